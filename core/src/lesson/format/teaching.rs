//! Reads the tables that teach: variants, steps, questions, goals, hints, attempts.

use super::cluster::read_actions;
use super::{
    Allow, Attempt, Choice, Goal, Hint, Question, Rung, Solution, Step, Task, Trap, Variant, Wrong,
};
use crate::kernel::time::Span;
use crate::lesson::error::Problem;
use crate::lesson::expression::{ExpressionReader, parse_query};
use crate::lesson::reader::{Reader, Table};
use crate::lesson::settings::{self, Override};
use crate::sim::action::ACTIONS;
use crate::sim::measure::Query;
use crate::sim::scenario::Scenario;
use std::sync::Arc;

/// What a lesson holds beside its scenario.
#[derive(Debug, Default)]
pub(super) struct Teaching {
    pub(super) variants: Vec<Variant>,
    pub(super) allow: Allow,
    pub(super) steps: Vec<Step>,
    pub(super) questions: Vec<Question>,
    pub(super) goals: Vec<Goal>,
    pub(super) traps: Vec<Trap>,
    pub(super) hints: Vec<Hint>,
    pub(super) solutions: Vec<Solution>,
    pub(super) wrong: Vec<Wrong>,
    pub(super) debrief: Vec<(Arc<str>, Query)>,
    pub(super) fidelity: Vec<String>,
}

/// Reads everything that teaches; faults are in the reader.
pub(super) fn read<'a>(
    reader: &mut Reader<'a>,
    lesson: &Table<'a>,
    scenario: &Scenario,
) -> Teaching {
    let mut teaching = Teaching::default();
    let expressions = ExpressionReader { scenario };
    teaching.variants = read_variants(reader, lesson, scenario);
    teaching.allow = read_allow(reader, lesson);
    for table in reader.tables(lesson, "steps", "step") {
        reader.require(&table, "until", "an instant or an event");
        let until = expressions.moment(reader, &table, "until");
        let id = read_id(
            reader,
            &table,
            "step",
            teaching.steps.iter().map(|step| &step.id),
        );
        if let (Some(id), Some(until)) = (id, until) {
            teaching.steps.push(Step {
                text: format!("steps.{id}"),
                id,
                until,
            });
        }
    }
    for table in reader.tables(lesson, "predict", "question") {
        let question = read_question(reader, &table, &expressions, &teaching.questions);
        teaching.questions.extend(question);
    }
    for table in reader.tables(lesson, "goals", "goal") {
        let goal = read_goal(reader, &table, &expressions, &teaching);
        teaching.goals.extend(goal);
    }
    for table in reader.tables(lesson, "traps", "trap") {
        let trap = read_trap(reader, &table, &teaching);
        teaching.traps.extend(trap);
    }
    for table in reader.tables(lesson, "hints", "hint") {
        let hint = read_hint(reader, &table, &teaching);
        teaching.hints.extend(hint);
    }
    read_attempts(reader, lesson, scenario, &mut teaching);
    read_debrief(reader, lesson, scenario, &mut teaching);
    teaching
}

/// A name that is not among `taken`. Names become parts of keys, so they are plain.
fn read_id<'a, 'i>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    kind: &'static str,
    mut taken: impl Iterator<Item = &'i Arc<str>>,
) -> Option<Arc<str>> {
    let id = reader.required_text(table, "id", "a name of its own")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if id.is_empty() || ID_CHARS_MAX < id.len() || !id.bytes().all(is_plain) {
        let expected = "at most 60 letters, digits and hyphens";
        reader.fault_in(table, "id", Problem::expected(expected, format!("{id:?}")));
        return None;
    }
    if taken.any(|other| *other == id) {
        let problem = Problem::Duplicate {
            kind,
            name: id.to_string(),
        };
        reader.fault_in(table, "id", problem);
    }
    Some(id)
}

/// A name that must be among `known`.
fn read_reference<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    field: &'static str,
    known: &[&Arc<str>],
) -> Option<Arc<str>> {
    let name = reader.text(table, field)?;
    check_reference(reader, table, field, &name, known).then_some(name)
}

fn check_reference<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    field: &'static str,
    name: &Arc<str>,
    known: &[&Arc<str>],
) -> bool {
    let is_known = known.contains(&name);
    if !is_known {
        let names = known.iter().map(|name| &***name);
        reader.fault_in(table, field, Problem::unknown(field, name, names));
    }
    is_known
}

fn read_variants<'a>(
    reader: &mut Reader<'a>,
    lesson: &Table<'a>,
    scenario: &Scenario,
) -> Vec<Variant> {
    let mut variants: Vec<Variant> = Vec::new();
    for table in reader.tables(lesson, "variant", "variant") {
        let Some(id) = read_id(reader, &table, "variant", variants.iter().map(|v| &v.id)) else {
            continue;
        };
        let set = read_overrides(reader, &table, scenario);
        let actions = read_actions(reader, &table, "at", scenario);
        variants.push(Variant {
            text: format!("variants.{id}"),
            id,
            set,
            actions,
        });
    }
    variants
}

/// Settings by path. Each is tried on the scenario, so that a fault is found here and not when a
/// learner clicks.
fn read_overrides<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    scenario: &Scenario,
) -> Vec<Override> {
    let mut changed = scenario.clone();
    let mut overrides = Vec::new();
    for (path, value, start) in reader.pairs(table, "set") {
        match settings::apply(&mut changed, &path, &value) {
            Ok(()) => overrides.push((Arc::from(path), Arc::from(value))),
            Err(error) => reader.fault(
                start,
                &format!("{}.set", table.path),
                Problem::Setting(error),
            ),
        }
    }
    if let Err(faults) = settings::validate(&changed)
        && settings::validate(scenario).is_ok()
    {
        for reason in faults {
            reader.fault_in(table, "set", Problem::Contradiction { reason });
        }
    }
    overrides
}

fn read_allow<'a>(reader: &mut Reader<'a>, lesson: &Table<'a>) -> Allow {
    let Some(table) = reader.table(lesson, "allow", "allow") else {
        return Allow::default();
    };
    let allow = Allow {
        actions: reader.texts(&table, "actions"),
        settings: reader.texts(&table, "settings"),
    };
    for name in &allow.actions {
        let known = || ACTIONS.iter().map(|action| action.verb);
        if !known().any(|verb| verb == &**name) {
            reader.fault_in(&table, "actions", Problem::unknown("action", name, known()));
        }
    }
    for path in &allow.settings {
        if settings::describe(path).is_none() {
            let own = settings::OWN_SETTINGS.iter().map(|own| own.path);
            reader.fault_in(&table, "settings", Problem::unknown("setting", path, own));
        }
    }
    allow
}

fn read_question<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    expressions: &ExpressionReader<'_>,
    questions: &[Question],
) -> Option<Question> {
    reader.require(table, "locks", "an instant or an event");
    let locks = expressions.moment(reader, table, "locks");
    let reveals = expressions.moment(reader, table, "reveals");
    let id = read_id(reader, table, "question", questions.iter().map(|q| &q.id))?;
    let mut options: Vec<Choice> = Vec::new();
    for option in reader.tables(table, "options", "option") {
        let holds = expressions.field(reader, &option, "holds");
        let name = read_id(
            reader,
            &option,
            "option",
            options.iter().map(|option| &option.id),
        );
        if let (Some(name), Some(holds)) = (name, holds) {
            let text = format!("predict.{id}.options.{name}");
            options.push(Choice {
                id: name,
                holds,
                text,
            });
        }
    }
    if options.len() < 2 {
        let problem = Problem::expected("at least two options", options.len().to_string());
        reader.fault_in(table, "options", problem);
    }
    Some(Question {
        text: format!("predict.{id}.question"),
        id,
        locks: locks?,
        reveals,
        options,
    })
}

fn read_goal<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    expressions: &ExpressionReader<'_>,
    teaching: &Teaching,
) -> Option<Goal> {
    let id = read_id(
        reader,
        table,
        "goal",
        teaching.goals.iter().map(|goal| &goal.id),
    );
    reader.require(table, "task", "watch, respond, change or construct");
    let tasks = [
        ("watch", Task::Watch),
        ("respond", Task::Respond),
        ("change", Task::Change),
        ("construct", Task::Construct),
    ];
    let task = reader.choice(table, "task", &tasks);
    let variants: Vec<&Arc<str>> = teaching
        .variants
        .iter()
        .map(|variant| &variant.id)
        .collect();
    let variant = read_reference(reader, table, "variant", &variants);
    let holds = expressions.field(reader, table, "holds");
    let id = id?;
    Some(Goal {
        text: format!("goals.{id}"),
        id,
        task: task?,
        variant,
        holds: holds?,
    })
}

fn read_trap<'a>(reader: &mut Reader<'a>, table: &Table<'a>, teaching: &Teaching) -> Option<Trap> {
    let id = read_id(
        reader,
        table,
        "trap",
        teaching.traps.iter().map(|trap| &trap.id),
    );
    reader.require(table, "question", "the question");
    reader.require(
        table,
        "option",
        "the answer that gives the misconception away",
    );
    let questions: Vec<&Arc<str>> = teaching.questions.iter().map(|q| &q.id).collect();
    let question = read_reference(reader, table, "question", &questions)?;
    let asked = teaching.questions.iter().find(|q| q.id == question)?;
    let options: Vec<&Arc<str>> = asked.options.iter().map(|option| &option.id).collect();
    let option = read_reference(reader, table, "option", &options);
    let id = id?;
    Some(Trap {
        text: format!("traps.{id}"),
        id,
        question,
        option: option?,
    })
}

fn read_hint<'a>(reader: &mut Reader<'a>, table: &Table<'a>, teaching: &Teaching) -> Option<Hint> {
    reader.require(table, "rung", "nudge, place, principle, worked or solution");
    let rung = reader.choice(table, "rung", &Rung::ALL)?;
    let goals: Vec<&Arc<str>> = teaching.goals.iter().map(|goal| &goal.id).collect();
    let goal = read_reference(reader, table, "goal", &goals);
    let same = teaching.hints.iter().rev().find(|hint| hint.goal == goal);
    if same.is_some_and(|lower| rung <= lower.rung) {
        let reason =
            String::from("hints of one goal go up: nudge, place, principle, worked, solution");
        reader.fault_in(table, "rung", Problem::Contradiction { reason });
    }
    let after = reader.span(table, "after").unwrap_or(Span::ZERO);
    let failed = reader.small(table, "failed", 1);
    let text = format!(
        "hints.{}.{}",
        goal.as_deref().unwrap_or("lesson"),
        rung.name()
    );
    Some(Hint {
        rung,
        goal,
        after,
        failed,
        text,
    })
}

fn read_attempts<'a>(
    reader: &mut Reader<'a>,
    lesson: &Table<'a>,
    scenario: &Scenario,
    teaching: &mut Teaching,
) {
    for table in reader.tables(lesson, "solutions", "solution") {
        let taken = teaching.solutions.iter().map(|solution| &solution.id);
        let id = read_id(reader, &table, "solution", taken);
        let attempt = read_attempt(reader, &table, scenario, teaching);
        reader.require(&table, "passes", "the goals that it passes");
        let passes = reader.texts(&table, "passes");
        let goals: Vec<&Arc<str>> = teaching.goals.iter().map(|goal| &goal.id).collect();
        for name in &passes {
            check_reference(reader, &table, "passes", name, &goals);
        }
        if let Some(id) = id {
            let text = format!("solutions.{id}");
            teaching.solutions.push(Solution {
                id,
                attempt,
                passes,
                text,
            });
        }
    }
    for table in reader.tables(lesson, "wrong", "wrong") {
        let of_wrong = teaching.wrong.iter().map(|wrong| &wrong.id);
        let taken = teaching
            .solutions
            .iter()
            .map(|solution| &solution.id)
            .chain(of_wrong);
        let id = read_id(reader, &table, "attempt", taken);
        let attempt = read_attempt(reader, &table, scenario, teaching);
        reader.require(&table, "fails", "the goal that must fail");
        let goals: Vec<&Arc<str>> = teaching.goals.iter().map(|goal| &goal.id).collect();
        let fails = read_reference(reader, &table, "fails", &goals);
        if let (Some(id), Some(fails)) = (id, fails) {
            teaching.wrong.push(Wrong {
                text: format!("wrong.{id}"),
                id,
                attempt,
                fails,
            });
        }
    }
    for goal in &teaching.goals {
        let mut solved = teaching
            .solutions
            .iter()
            .flat_map(|solution| &solution.passes);
        if !solved.any(|name| *name == goal.id) {
            let reason = format!("no solution passes the goal {}", goal.id);
            reader.fault_in(lesson, "goals", Problem::Contradiction { reason });
        }
    }
}

fn read_attempt<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    scenario: &Scenario,
    teaching: &Teaching,
) -> Attempt {
    let variants: Vec<&Arc<str>> = teaching
        .variants
        .iter()
        .map(|variant| &variant.id)
        .collect();
    let attempt = Attempt {
        variant: read_reference(reader, table, "variant", &variants),
        set: read_overrides(reader, table, scenario),
        actions: read_actions(reader, table, "actions", scenario),
    };
    let allow = &teaching.allow;
    for (path, _) in &attempt.set {
        if !allow
            .settings
            .iter()
            .any(|allowed| settings::covers(allowed, path))
        {
            let path = path.to_string();
            let problem = Problem::Setting(settings::SetError::NotAllowed { path });
            reader.fault_in(table, "set", problem);
        }
    }
    for (_, command) in &attempt.actions {
        let verb = crate::sim::action::verb(command, scenario);
        if !allow.actions.iter().any(|allowed| &**allowed == verb) {
            let reason = format!("{verb} is not among allow.actions");
            reader.fault_in(table, "actions", Problem::Contradiction { reason });
        }
    }
    attempt
}

fn read_debrief<'a>(
    reader: &mut Reader<'a>,
    lesson: &Table<'a>,
    scenario: &Scenario,
    teaching: &mut Teaching,
) {
    if let Some(debrief) = reader.table(lesson, "debrief", "debrief") {
        for table in reader.tables(&debrief, "show", "show") {
            let taken = teaching.debrief.iter().map(|(id, _)| id);
            let id = read_id(reader, &table, "number", taken);
            if let (Some(query), Some(id)) = (parse_query(reader, &table, scenario), id) {
                teaching.debrief.push((id, query));
            }
        }
    }
    reader.require(
        lesson,
        "fidelity",
        "ids of the texts that say what the lesson leaves out",
    );
    let fidelity = reader.texts(lesson, "fidelity");
    if lesson.has("fidelity") && fidelity.is_empty() {
        reader.fault_in(
            lesson,
            "fidelity",
            Problem::expected("at least one text", "none"),
        );
    }
    teaching.fidelity = fidelity.iter().map(|id| format!("fidelity.{id}")).collect();
}

const ID_CHARS_MAX: usize = 60;
