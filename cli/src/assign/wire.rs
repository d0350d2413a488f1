//! A member's subscription as the Java client writes it (`ConsumerProtocolSubscription`), and what
//! assignors put into its user data.

/// A partition by topic name.
pub type Named = (String, u32);

/// A subscription, read back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subscription {
    /// Subscribed topics.
    pub topics: Vec<String>,
    /// What the assignor added; unset when it added nothing.
    pub user_data: Option<Vec<u8>>,
    /// Owned partitions (version 1).
    pub owned: Vec<Named>,
    /// Generation (version 2); -1 for none.
    pub generation_id: i32,
    /// Rack (version 3).
    pub rack: Option<String>,
}

impl Subscription {
    /// Reads a subscription, its version first. Unset when the bytes are too few or no text.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        Self::try_read(&mut Reader(bytes)).ok()
    }

    fn try_read(reader: &mut Reader<'_>) -> Result<Self, Cut> {
        let version = reader.i16()?;
        let mut subscription = Self {
            topics: reader.list(Reader::text)?,
            user_data: reader.nullable_bytes()?,
            generation_id: -1,
            ..Self::default()
        };
        if 1 <= version {
            subscription.owned = reader.partitions()?;
        }
        if 2 <= version {
            subscription.generation_id = reader.i32()?;
        }
        if 3 <= version {
            subscription.rack = reader.nullable_text()?;
        }
        Ok(subscription)
    }
}

/// User data of `sticky`: what the member was given, and in which generation, -1 when the old
/// schema has none. Bytes of no schema say nothing.
pub fn sticky_user_data(bytes: &[u8]) -> (Vec<Named>, i32) {
    let mut reader = Reader(bytes);
    match reader.partitions() {
        Ok(partitions) => (partitions, reader.i32().unwrap_or(-1)),
        Err(Cut) => (Vec::new(), -1),
    }
}

/// User data of `cooperative-sticky`: the generation, -1 when there is none.
pub fn cooperative_user_data(bytes: &[u8]) -> i32 {
    Reader(bytes).i32().unwrap_or(-1)
}

/// Bytes written as pairs of hexadecimal digits.
pub fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    let bytes = digits.chunks_exact(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    bytes.collect()
}

/// There are fewer bytes than were announced, or they are no text.
struct Cut;

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Cut> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Cut)?;
        self.0 = rest;
        Ok(taken)
    }

    fn i16(&mut self) -> Result<i16, Cut> {
        let bytes = self.take(2)?.try_into().ok().ok_or(Cut)?;
        Ok(i16::from_be_bytes(bytes))
    }

    fn i32(&mut self) -> Result<i32, Cut> {
        let bytes = self.take(4)?.try_into().ok().ok_or(Cut)?;
        Ok(i32::from_be_bytes(bytes))
    }

    fn nullable_text(&mut self) -> Result<Option<String>, Cut> {
        let Ok(length) = usize::try_from(self.i16()?) else {
            return Ok(None);
        };
        let text = String::from_utf8(self.take(length)?.to_vec());
        text.ok().map(Some).ok_or(Cut)
    }

    fn text(&mut self) -> Result<String, Cut> {
        self.nullable_text()?.ok_or(Cut)
    }

    fn nullable_bytes(&mut self) -> Result<Option<Vec<u8>>, Cut> {
        match usize::try_from(self.i32()?) {
            Ok(length) => Ok(Some(self.take(length)?.to_vec())),
            Err(_) => Ok(None),
        }
    }

    /// A list with its length in front.
    fn list<T>(&mut self, entry: impl Fn(&mut Self) -> Result<T, Cut>) -> Result<Vec<T>, Cut> {
        let length = self.i32()?;
        (0..length).map(|_| entry(self)).collect()
    }

    /// Partitions, grouped by topic.
    fn partitions(&mut self) -> Result<Vec<Named>, Cut> {
        let topics = self.list(|reader| Ok((reader.text()?, reader.list(Self::i32)?)))?;
        let mut named = Vec::new();
        for (topic, partitions) in topics {
            for partition in partitions {
                named.push((topic.clone(), u32::try_from(partition).ok().ok_or(Cut)?));
            }
        }
        Ok(named)
    }
}
