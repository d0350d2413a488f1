use super::*;

const OK: &str = "running 2 tests\n\
    test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
    test result: ok. 0 passed; 0 failed; 0 ignored; 0 filtered out\n";
const BAD: &str = "test result: FAILED. 3 passed; 1 failed; 0 ignored\n";

#[test]
fn counts_add_up_over_all_runs() {
    for (output, ok, passed, failed) in [
        (OK, true, 2, 0),
        (BAD, false, 3, 1),
        (&format!("{OK}{BAD}"), false, 5, 1),
        (OK, false, 2, 1),
        ("error[E0308]: mismatched types\n", false, 0, 1),
        ("", true, 0, 1),
        (
            "    test result: ok. 7 passed; 0 failed; 0 ignored\n",
            true,
            7,
            0,
        ),
    ] {
        assert_eq!(
            Count::tests(output, ok),
            Count { passed, failed },
            "{output}"
        );
    }
}

#[test]
fn a_check_counts_as_one() {
    let both = Count::check(true).plus(Count::check(false));
    assert_eq!(both.line(), "1 passed, 1 failed", "sum");
}
