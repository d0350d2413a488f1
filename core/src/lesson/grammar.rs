//! The tables of a lesson file and their fields: what the reader accepts, the reference page
//! prints and the JSON schema says.

use serde::Serialize;

/// A kind of table in a lesson file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TableInfo {
    /// Its name here and in the reference.
    pub name: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Its fields.
    pub fields: &'static [FieldInfo],
}

/// A field of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FieldInfo {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub shape: Shape,
    /// What it means, and its default.
    pub doc: &'static str,
    /// Whether it must be given.
    pub is_needed: bool,
}

/// What a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The name of a trace event.
    Event,
    /// The name of a measure.
    Measure,
    /// Kafka's name of an error.
    Error,
    /// Kafka's name of an API.
    Api,
    /// A whole number.
    Number,
    /// A truth value.
    Flag,
    /// A time with its unit: `8.5s`.
    Time,
    /// An instant with its unit, or an event pattern.
    Moment,
    /// A list of texts.
    Texts,
    /// A list of timed actions.
    Actions,
    /// A list of lists of broker ids.
    Replicas,
    /// A list of goal conditions.
    Conditions,
    /// A list of goal expressions.
    Goals,
    /// Kafka settings of this kind by name.
    Settings(&'static str),
    /// New values by setting path.
    Overrides,
    /// Processing rules by record value.
    Rules,
    /// A table of this name.
    Table(&'static str),
    /// A list of tables of this name.
    Tables(&'static str),
    /// A text, or a table of this name.
    TextOr(&'static str),
}

/// The table called `name`.
pub fn table(name: &str) -> Option<&'static TableInfo> {
    TABLES.iter().find(|table| table.name == name)
}

const fn field(name: &'static str, shape: Shape, doc: &'static str) -> FieldInfo {
    FieldInfo {
        name,
        shape,
        doc,
        is_needed: false,
    }
}

const fn needed(name: &'static str, shape: Shape, doc: &'static str) -> FieldInfo {
    FieldInfo {
        name,
        shape,
        doc,
        is_needed: true,
    }
}

/// Every table.
pub const TABLES: &[TableInfo] = &[
    TableInfo {
        name: "lesson",
        doc: "The file itself.",
        fields: &[
            needed("format", Shape::Number, "Version of this grammar: 1."),
            needed(
                "id",
                Shape::Text,
                "Name in links: lower-case letters, digits and hyphens.",
            ),
            field(
                "revision",
                Shape::Number,
                "Rises when a change makes old links mean something else. Default 1.",
            ),
            needed(
                "kafka",
                Shape::Text,
                "The Kafka version that the lesson models, such as 4.0.",
            ),
            field(
                "seed",
                Shape::Number,
                "Decides everything left to chance. Default 1.",
            ),
            needed("until", Shape::Time, "Where the run ends."),
            field(
                "opens",
                Shape::Time,
                "Where the page opens the lesson, so that the cluster runs at first sight. Default 0s.",
            ),
            field("budget", Shape::Table("budget"), "What a run may cost."),
            field(
                "at",
                Shape::Actions,
                "Actions that the lesson takes by itself.",
            ),
            needed("cluster", Shape::Table("cluster"), "The brokers."),
            field("topic", Shape::Tables("topic"), "The topics."),
            field("producer", Shape::Tables("producer"), "The producers."),
            field("consumer", Shape::Tables("consumer"), "The consumers."),
            field("network", Shape::Table("network"), "How messages travel."),
            field(
                "history",
                Shape::Settings("history"),
                "What an old release of Kafka did otherwise.",
            ),
            field(
                "variant",
                Shape::Tables("variant"),
                "Other experiments on the same stage, one click apart. The first one is chosen until another is.",
            ),
            field(
                "allow",
                Shape::Table("allow"),
                "What the learner may do and change.",
            ),
            field(
                "steps",
                Shape::Tables("step"),
                "Named segments; the run stops at the end of each.",
            ),
            field(
                "predict",
                Shape::Tables("question"),
                "Questions that lock before the deciding event.",
            ),
            field("goals", Shape::Tables("goal"), "What the run must show."),
            field(
                "traps",
                Shape::Tables("trap"),
                "Misconceptions with their own replies.",
            ),
            field("hints", Shape::Tables("hint"), "Help in rungs."),
            field(
                "solutions",
                Shape::Tables("solution"),
                "Attempts that must pass.",
            ),
            field(
                "wrong",
                Shape::Tables("wrong"),
                "Attempts that must fail for their stated goal.",
            ),
            field(
                "debrief",
                Shape::Table("debrief"),
                "What is shown at the end.",
            ),
            needed(
                "fidelity",
                Shape::Texts,
                "Ids of the texts that say what the lesson leaves out; at least one.",
            ),
        ],
    },
    TableInfo {
        name: "budget",
        doc: "What a run may cost. A goal still open when it is spent is unknown.",
        fields: &[field(
            "events",
            Shape::Number,
            "Kernel events. Default 3,000,000.",
        )],
    },
    TableInfo {
        name: "cluster",
        doc: "The brokers and their settings.",
        fields: &[
            needed("brokers", Shape::Tables("broker"), "The brokers."),
            field(
                "controllers",
                Shape::Number,
                "How many controllers make up the quorum, up to 5; their ids count from 3000. Default: 1.",
            ),
            field(
                "config",
                Shape::Settings("broker"),
                "Broker settings by Kafka's names.",
            ),
        ],
    },
    TableInfo {
        name: "broker",
        doc: "A broker.",
        fields: &[
            needed("id", Shape::Number, "Its node.id."),
            field("rack", Shape::Text, "Its broker.rack. Default: none."),
            field(
                "metadata-delay",
                Shape::Time,
                "How long records of the metadata log wait at the broker before it acts on them. Default: 0s.",
            ),
        ],
    },
    TableInfo {
        name: "topic",
        doc: "A topic, created as soon as the brokers are up.",
        fields: &[
            needed("name", Shape::Text, "Its name."),
            field(
                "partitions",
                Shape::Number,
                "How many partitions. Default: num.partitions of the cluster.",
            ),
            field(
                "replication-factor",
                Shape::Number,
                "How many replicas of each. Default: default.replication.factor of the cluster.",
            ),
            field(
                "assignments",
                Shape::Replicas,
                "Replicas by hand, one list a partition, the preferred leader first. Default: the controller places them.",
            ),
            field(
                "config",
                Shape::Settings("topic"),
                "Topic settings by Kafka's names.",
            ),
        ],
    },
    TableInfo {
        name: "producer",
        doc: "A producer and what it sends.",
        fields: &[
            needed("name", Shape::Text, "Its name on the stage."),
            needed("topic", Shape::Text, "Where it sends to."),
            field(
                "every",
                Shape::Time,
                "Time between two records. Default 1s.",
            ),
            field(
                "arrivals",
                Shape::Choice(&["even", "random"]),
                "even, or random as independent customers come. Default even.",
            ),
            field("records", Shape::Number, "Records in all. Default: no end."),
            field(
                "keys",
                Shape::TextOr("keys"),
                "none, round-robin (partitions in turn), or a table. Default none.",
            ),
            field(
                "partition",
                Shape::Number,
                "Always this partition. Default: key or partitioner decide.",
            ),
            field(
                "value-bytes",
                Shape::Number,
                "Size of each value. Default 100.",
            ),
            field(
                "transaction-records",
                Shape::Number,
                "With transactional.id: records in one transaction. Default 1.",
            ),
            field(
                "transaction-abort-every",
                Shape::Number,
                "With transactional.id: every how many transactions one is aborted. Default: never.",
            ),
            field(
                "start",
                Shape::Text,
                "When its process starts: a time, or by-action. Default 0s.",
            ),
            field(
                "config",
                Shape::Settings("producer"),
                "Producer settings by Kafka's names.",
            ),
        ],
    },
    TableInfo {
        name: "keys",
        doc: "Keys in turn: prefix-0, prefix-1, …",
        fields: &[
            field("prefix", Shape::Text, "What they begin with. Default key."),
            needed("count", Shape::Number, "How many there are."),
        ],
    },
    TableInfo {
        name: "consumer",
        doc: "A consumer and its application.",
        fields: &[
            needed(
                "name",
                Shape::Text,
                "Its name on the stage, and its client.id.",
            ),
            field(
                "topics",
                Shape::Texts,
                "The topics that it subscribes to. Needed, unless it has assign.",
            ),
            field(
                "assign",
                Shape::Texts,
                "Partitions that it takes by hand, such as orders-0, outside any group: no member, no rebalance. With a group.id it commits for that group. Default: none.",
            ),
            field(
                "start",
                Shape::Text,
                "When its process starts: a time, or by-action. Default 0s.",
            ),
            field(
                "processing",
                Shape::Text,
                "Time a record takes: 5ms, uniform 1ms 5ms, or exponential 5ms. Default 1ms.",
            ),
            field(
                "on",
                Shape::Rules,
                "What records with this exact value do: take a time (wait = \"15m\"), crash the process (crash = \"crash\"), or be too much for the application, which seeks past them (poison = \"skip\") and perhaps commits that (\"skip-and-commit\").",
            ),
            field(
                "commit",
                Shape::Choice(&[
                    "none",
                    "sync-after-batch",
                    "sync-after-record",
                    "sync-before-batch",
                    "async-after-batch",
                ]),
                "When the application commits by itself: none (enable.auto.commit decides), after each batch, after each record, or before the first record of a batch (at most once). Default none.",
            ),
            field(
                "on-commit-error",
                Shape::Choice(&["go-on", "drop-batch", "seek-back"]),
                "When commitSync() throws: go-on with the next record, drop-batch (the position is past it), or seek-back to the first record that is not done. Default go-on.",
            ),
            field(
                "commit-on-revoke",
                Shape::Flag,
                "Whether its rebalance listener commits what is done when partitions are taken away. Default false.",
            ),
            field(
                "read-ahead",
                Shape::Choice(&["never", "deliver-late", "drop"]),
                "Whether it polls on while it delivers, as connectors do; and what becomes of what it has read when its partition goes: deliver-late delivers it all the same, drop leaves it to whoever owns the partition next. Default never.",
            ),
            field(
                "assignor-time",
                Shape::Time,
                "How long its assignor takes when it leads the group. Default 0s.",
            ),
            field(
                "restart",
                Shape::TextOr("restart"),
                "never, or how a crashed process comes back. Default never.",
            ),
            field(
                "output",
                Shape::TextOr("output"),
                "A topic to which a copy of each processed record goes. Default: none.",
            ),
            field(
                "config",
                Shape::Settings("consumer"),
                "Consumer settings by Kafka's names.",
            ),
        ],
    },
    TableInfo {
        name: "restart",
        doc: "A crashed process comes back, as a pod does.",
        fields: &[
            needed(
                "delay",
                Shape::Time,
                "From the first crash to the next start.",
            ),
            field(
                "delay-max",
                Shape::Time,
                "The delay doubles with each crash up to this. Default 5m.",
            ),
        ],
    },
    TableInfo {
        name: "output",
        doc: "Where processed records go.",
        fields: &[
            needed("topic", Shape::Text, "The topic."),
            field(
                "config",
                Shape::Settings("producer"),
                "Settings of the producer inside the application.",
            ),
        ],
    },
    TableInfo {
        name: "network",
        doc: "How messages travel.",
        fields: &[
            field(
                "latency",
                Shape::Time,
                "Shortest time from end to end. Default 500us.",
            ),
            field(
                "jitter",
                Shape::Time,
                "Added to it, uniform from zero to this. Default 500us.",
            ),
            field(
                "loss",
                Shape::Text,
                "How often a segment is lost and sent again, such as 0.5%. Default 0%.",
            ),
            field(
                "link",
                Shape::Tables("link"),
                "Links that behave in their own way.",
            ),
        ],
    },
    TableInfo {
        name: "link",
        doc: "A link between two nodes; what it does not say is as in network.",
        fields: &[
            needed(
                "from",
                Shape::Text,
                "A broker's id, a client's name or controller.",
            ),
            needed("to", Shape::Text, "The other end."),
            field("latency", Shape::Time, "Shortest time from end to end."),
            field("jitter", Shape::Time, "Added to it."),
            field("loss", Shape::Text, "How often a segment is lost."),
            field(
                "one-way",
                Shape::Flag,
                "Whether the other direction stays as it is. Default false.",
            ),
        ],
    },
    TableInfo {
        name: "variant",
        doc: "An experiment: the lesson with some settings changed.",
        fields: &[
            needed("id", Shape::Text, "Its name, as in --variant."),
            field(
                "set",
                Shape::Overrides,
                "Settings by path, such as consumer.c1.group.instance.id = \"c1\".",
            ),
            field(
                "at",
                Shape::Actions,
                "Actions that it takes beside those of the lesson.",
            ),
        ],
    },
    TableInfo {
        name: "allow",
        doc: "What the learner may do and change.",
        fields: &[
            field("actions", Shape::Texts, "Verbs of actions. Default: none."),
            field(
                "settings",
                Shape::Texts,
                "Setting paths; * stands for every name. Default: none.",
            ),
        ],
    },
    TableInfo {
        name: "step",
        doc: "A named segment of the run.",
        fields: &[
            needed("id", Shape::Text, "Its name; its text is steps.ID."),
            needed("until", Shape::Moment, "Where it ends."),
        ],
    },
    TableInfo {
        name: "question",
        doc: "A question. Its key is never written down: an option is right when its expression holds in the run of the learner's configuration.",
        fields: &[
            needed(
                "id",
                Shape::Text,
                "Its name; its text is predict.ID.question.",
            ),
            needed(
                "locks",
                Shape::Moment,
                "When the answer can no longer be changed.",
            ),
            field(
                "reveals",
                Shape::Moment,
                "When the right answer is shown. Default: the end of the run.",
            ),
            needed(
                "options",
                Shape::Tables("option"),
                "The answers to choose from.",
            ),
        ],
    },
    TableInfo {
        name: "option",
        doc: "An answer.",
        fields: &[
            needed(
                "id",
                Shape::Text,
                "Its name; its text is predict.QUESTION.options.ID.",
            ),
            needed(
                "holds",
                Shape::Table("expression"),
                "Right when this holds in the run.",
            ),
        ],
    },
    TableInfo {
        name: "goal",
        doc: "What the run must show: id, task and one expression.",
        fields: &[
            needed("id", Shape::Text, "Its name; its text is goals.ID."),
            needed(
                "task",
                Shape::Choice(&["watch", "respond", "change", "construct"]),
                "What the learner does for it: watch, respond, change or construct.",
            ),
            field(
                "variant",
                Shape::Text,
                "Only this variant can reach it. Default: any.",
            ),
            needed("holds", Shape::Table("expression"), "The expression."),
        ],
    },
    TableInfo {
        name: "expression",
        doc: "One of reach, never, hold, count, before, within, all and any, over a window.",
        fields: &[
            field(
                "from",
                Shape::Moment,
                "Where the window opens; an event itself is not in it. Default: the start.",
            ),
            field(
                "to",
                Shape::Moment,
                "Where it closes. Default: the end of the run.",
            ),
            field(
                "reach",
                Shape::Table("condition"),
                "Passes when the condition is met; fails when the window closes.",
            ),
            field(
                "never",
                Shape::Table("condition"),
                "Fails when the condition is met; passes when the window closes.",
            ),
            field(
                "hold",
                Shape::Table("condition"),
                "A measure: fails when it is not met; passes when the window closes. With for: passes when it was met so long without a break.",
            ),
            field("for", Shape::Time, "With hold: how long."),
            field(
                "count",
                Shape::Table("condition"),
                "An event: how often it happens.",
            ),
            field(
                "min",
                Shape::Number,
                "With count: at least so often. Default 0.",
            ),
            field(
                "max",
                Shape::Number,
                "With count: at most so often. Default: no bound.",
            ),
            field(
                "before",
                Shape::Conditions,
                "Two conditions: the first is met, and not later than the second.",
            ),
            field(
                "within",
                Shape::Table("condition"),
                "The condition is met within span after each event of after, and there is such an event.",
            ),
            field(
                "after",
                Shape::Table("condition"),
                "With within: the event.",
            ),
            field("span", Shape::Time, "With within: how soon."),
            field(
                "all",
                Shape::Goals,
                "Every one of these expressions passes.",
            ),
            field("any", Shape::Goals, "One of these expressions passes."),
        ],
    },
    TableInfo {
        name: "condition",
        doc: "An event with filters, or a measure with a bound. A counter counts from where the window opens.",
        fields: &[
            field("event", Shape::Event, "Name of a trace event."),
            field("measure", Shape::Measure, "Name of a measure."),
            field("at-least", Shape::Number, "Bound of a measure."),
            field("at-most", Shape::Number, "Bound of a measure."),
            field("equals", Shape::Number, "Bound of a measure."),
            field("topic", Shape::Text, "Filter: the topic."),
            field("partition", Shape::Number, "Filter: the partition."),
            field(
                "group",
                Shape::Text,
                "Filter: the group; for a client's events, the group of the client.",
            ),
            field("client", Shape::Text, "Filter: the client's name."),
            field(
                "broker",
                Shape::Number,
                "Filter: the broker that the event names, or at which it happens.",
            ),
            field(
                "error",
                Shape::Error,
                "Filter: Kafka's error name, such as NOT_ENOUGH_REPLICAS.",
            ),
            field(
                "state",
                Shape::Text,
                "Filter: the new state of a group or member.",
            ),
            field("previous", Shape::Text, "Filter: the state before."),
            field("value", Shape::Text, "Filter: the record's text."),
            field(
                "contains",
                Shape::Text,
                "Filter: a part of the event's reason or text.",
            ),
            field(
                "api",
                Shape::Api,
                "Filter: the API of a message, such as JoinGroup.",
            ),
            field(
                "waiting",
                Shape::Choice(&["join", "sync", "produce", "fetch", "coordinator-append"]),
                "Filter: where a request waits: join, sync, produce, fetch or coordinator-append.",
            ),
            field(
                "members",
                Shape::Number,
                "Filter: how many members a join phase had.",
            ),
            field(
                "isr",
                Shape::Number,
                "Filter: how many members the ISR has from now on.",
            ),
            field(
                "leader",
                Shape::Number,
                "Filter: the partition's new leader; -1 for none.",
            ),
            field(
                "flag",
                Shape::Flag,
                "Filter: the event's truth value: timed_out, unclean, duplicate, rebalances, is_cut, as_leader, from_commit or is_response.",
            ),
        ],
    },
    TableInfo {
        name: "trap",
        doc: "A misconception with its own reply.",
        fields: &[
            needed("id", Shape::Text, "Its name; its text is traps.ID."),
            needed("question", Shape::Text, "The question."),
            needed(
                "option",
                Shape::Text,
                "The answer that gives it away; it gets this reply when it is wrong.",
            ),
        ],
    },
    TableInfo {
        name: "hint",
        doc: "Help with a goal, or with the lesson.",
        fields: &[
            needed(
                "rung",
                Shape::Choice(&["nudge", "place", "principle", "worked", "solution"]),
                "nudge, place, principle, worked or solution, in this order. Its text is hints.GOAL.RUNG, or hints.lesson.RUNG.",
            ),
            field(
                "goal",
                Shape::Text,
                "The goal that it helps with. Default: the lesson.",
            ),
            field(
                "after",
                Shape::Time,
                "Opens when the learner has worked so long. Default 0s.",
            ),
            field(
                "failed",
                Shape::Number,
                "Opens earlier, after so many failed attempts.",
            ),
        ],
    },
    TableInfo {
        name: "solution",
        doc: "An attempt that must pass.",
        fields: &[
            needed(
                "id",
                Shape::Text,
                "Its name, as in --solution; its text is solutions.ID.",
            ),
            field(
                "variant",
                Shape::Text,
                "The variant. Default: the first, if there is one.",
            ),
            field("set", Shape::Overrides, "Settings that it changes."),
            field("actions", Shape::Actions, "Its actions."),
            needed(
                "passes",
                Shape::Texts,
                "The goals that it passes. All solutions together pass every goal.",
            ),
        ],
    },
    TableInfo {
        name: "wrong",
        doc: "An attempt that must fail.",
        fields: &[
            needed(
                "id",
                Shape::Text,
                "Its name, as in --solution; its text is wrong.ID.",
            ),
            field(
                "variant",
                Shape::Text,
                "The variant. Default: the first, if there is one.",
            ),
            field("set", Shape::Overrides, "Settings that it changes."),
            field("actions", Shape::Actions, "Its actions."),
            needed("fails", Shape::Text, "The goal that must fail."),
        ],
    },
    TableInfo {
        name: "debrief",
        doc: "What is shown at the end: the text debrief, in which {ID} stands for a number of the run.",
        fields: &[field("show", Shape::Tables("show"), "The numbers.")],
    },
    TableInfo {
        name: "show",
        doc: "A number for the debrief.",
        fields: &[
            needed("id", Shape::Text, "Its name in the text."),
            needed("measure", Shape::Measure, "Name of a measure."),
            field("topic", Shape::Text, "Filter."),
            field("partition", Shape::Number, "Filter."),
            field("group", Shape::Text, "Filter."),
            field("client", Shape::Text, "Filter."),
            field("broker", Shape::Number, "Filter."),
        ],
    },
    TableInfo {
        name: "catalog",
        doc: "The file index.toml beside the lessons: which there are, in teaching order.",
        fields: &[field("concept", Shape::Tables("concept"), "The concepts.")],
    },
    TableInfo {
        name: "concept",
        doc: "A concept and its lessons.",
        fields: &[
            needed("id", Shape::Text, "Its name."),
            needed("lessons", Shape::Texts, "Ids of its lessons."),
        ],
    },
];
