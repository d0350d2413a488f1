use super::{LinkFault, Route, RunLink};
use terrarium_core::kernel::time::SimTime;

fn fault(hash: &str) -> (String, LinkFault) {
    match Route::parse(hash) {
        Route::Bad(error) => (error.entry, error.fault),
        route => panic!("{hash} must be refused, and is {route:?}"),
    }
}

#[test]
fn every_address_reads_back_what_it_says() {
    let link = RunLink {
        seed: Some(u64::MAX),
        rev: Some(3),
        variant: Some(String::from("static members")),
        settings: vec![(
            String::from("consumer.c1.group.instance.id"),
            String::from("c=1"),
        )],
        log: vec![
            String::from("8.5s kill-broker 2"),
            String::from("31s send orders key=ä&b value=50%=x+y"),
        ],
        at: Some(SimTime(46_702_001)),
    };
    let routes = [
        Route::Home,
        Route::Fidelity,
        Route::Help,
        Route::Lesson {
            id: String::from("barrier"),
            link: RunLink::default(),
        },
        Route::Sandbox {
            link: RunLink::default(),
        },
        Route::Sandbox { link: link.clone() },
        Route::Lesson {
            id: String::from("wait-and-crash"),
            link,
        },
    ];
    for route in routes {
        assert_eq!(Route::parse(&route.hash()), route, "{}", route.hash());
    }
}

#[test]
fn a_short_log_stays_readable() {
    let log = vec![
        String::from("8.5s kill-broker 2"),
        String::from("22s restart-broker 2"),
    ];
    let route = Route::Sandbox {
        link: RunLink {
            seed: Some(7),
            log,
            ..RunLink::default()
        },
    };
    let expected = "#/sandbox?seed=7&log=8.5s+kill-broker+2;22s+restart-broker+2";
    assert_eq!(route.hash(), expected, "an address that a person can read");
}

#[test]
fn an_empty_address_is_home() {
    for hash in ["", "#", "#/", "#/lessons"] {
        assert_eq!(Route::parse(hash), Route::Home, "{hash:?}");
    }
}

#[test]
fn a_bad_link_names_the_entry_that_is_wrong() {
    let cases = [
        (
            "#/sandbx",
            "sandbx",
            LinkFault::UnknownPage(Some("sandbox")),
        ),
        ("#/lesson", "/lesson", LinkFault::NoLesson),
        ("#/lesson/a/b", "b", LinkFault::UnknownPage(None)),
        ("#/help/me", "me", LinkFault::UnknownPage(None)),
        ("#/sandbox?seed=x", "seed=x", LinkFault::NotANumber),
        ("#/sandbox?seed=-1", "seed=-1", LinkFault::NotANumber),
        ("#/sandbox?seed=+1", "seed=+1", LinkFault::NotANumber),
        (
            "#/sandbox?seed=99999999999999999999",
            "seed=99999999999999999999",
            LinkFault::NotANumber,
        ),
        (
            "#/sandbox?sed=1",
            "sed=1",
            LinkFault::UnknownName(Some("seed")),
        ),
        ("#/sandbox?seed=1&seed=2", "seed=2", LinkFault::Twice),
        ("#/sandbox?at=soon", "at=soon", LinkFault::NotATime),
        ("#/sandbox?log=%zz", "log=%zz", LinkFault::BadEscape),
        ("#/lesson/%ff", "%ff", LinkFault::BadEscape),
        ("#/lesson/%zz", "%zz", LinkFault::BadEscape),
        ("#/help?seed=1", "seed=1", LinkFault::UnknownName(None)),
    ];
    for (hash, entry, expected) in cases {
        assert_eq!(fault(hash), (entry.to_owned(), expected), "{hash}");
    }
}

#[test]
fn what_the_engine_cannot_read_is_said_in_its_words() {
    for entry in ["set=x", "log=z1.@@"] {
        let (found, fault) = fault(&format!("#/sandbox?{entry}"));
        assert_eq!(found, entry, "the entry that is wrong");
        assert!(
            matches!(&fault, LinkFault::Unreadable(text) if !text.is_empty()),
            "{fault:?}"
        );
    }
}

#[test]
fn a_long_log_is_compressed_and_comes_back() {
    let log: Vec<String> = (1..400)
        .map(|second| format!("{second}s send orders key=k{second} value=v"))
        .collect();
    let route = Route::Sandbox {
        link: RunLink {
            log,
            ..RunLink::default()
        },
    };
    let hash = route.hash();
    assert!(
        hash.len() < 3_000 && hash.contains("log=z1."),
        "{} characters",
        hash.len()
    );
    assert_eq!(Route::parse(&hash), route, "nothing is lost");
}
