//! `terrarium partition`: where keys go.

use crate::{Ending, Failure};
use clap::Args;
use std::io::Write;
use terrarium_core::client::producer::partitioner::partition_for_key;
use terrarium_core::kernel::limits::PARTITIONS_MAX;

/// What `terrarium partition` takes.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// How many partitions the topic has.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(PARTITIONS_MAX)))]
    pub partitions: u32,
    /// Keys, as UTF-8 text.
    #[arg(required = true)]
    pub keys: Vec<String>,
}

/// Prints one line a key: the partition, a tab, the key.
///
/// # Errors
/// The output cannot be written.
pub fn run(options: &Options, output: &mut impl Write) -> Result<Ending, Failure> {
    for key in &options.keys {
        let partition = partition_for_key(key.as_bytes(), options.partitions);
        writeln!(output, "{partition}\t{key}")?;
    }
    Ok(Ending::Met)
}

#[cfg(test)]
mod tests {
    use super::{Options, run};

    #[test]
    fn keys_go_where_a_java_producer_sends_them() {
        // Hashes of Kafka's own UtilsTest#testMurmur2, made positive, modulo 100.
        let keys = ["21", "foobar", "a-little-bit-long-string"];
        let hashes: [i32; 3] = [-973_932_308, -790_332_482, -985_981_536];
        let options = Options {
            partitions: 100,
            keys: keys.map(String::from).to_vec(),
        };
        let mut output = Vec::new();
        run(&options, &mut output).expect("a vector takes everything");
        let line = |(key, hash): (&&str, i32)| format!("{}\t{key}", (hash & 0x7fff_ffff) % 100);
        let expected: Vec<String> = keys.iter().zip(hashes).map(line).collect();
        let printed = String::from_utf8(output).expect("UTF-8");
        let printed: Vec<&str> = printed.lines().collect();
        assert_eq!(printed, expected, "murmur2 of each key");
    }
}
