//! The cluster: producers, brokers with their replicas, consumers, and what travels between them.

mod broker;
mod client;
mod controller;
mod places;
mod wire;

use super::fit::Taken;
use super::shape::{Layer, Scene, Style};
use super::theme::Ink;
use super::view::View;
use crate::driver::selection::Selection;
use places::Places;
pub(in crate::scene) use places::TOP;
use terrarium_core::base::ids::NodeId;

/// Draws the cluster.
pub(crate) fn build(view: &View<'_>) -> Scene {
    let (width, height) = view.size;
    let mut scene = Scene::new(width, height);
    let places = Places::of(view);
    for (broker, place) in &places.brokers {
        if let Some(broker) = view.stage.brokers.iter().find(|known| known.id == *broker) {
            broker::draw(&mut scene, view, &places, (broker, *place));
        }
    }
    for (node, place) in places.producers.iter().chain(&places.consumers) {
        client::draw(&mut scene, view, &places, (*node, *place));
    }
    for (node, place) in &places.controllers {
        controller::draw(&mut scene, view, (*node, *place));
    }
    // What messages are called must not cover what else is written.
    let mut taken = Taken::default();
    for place in scene
        .shapes
        .iter()
        .filter_map(|shape| shape.text_box(view.measure))
    {
        taken.hold(place);
    }
    wire::draw_parked(&mut scene, view, &places);
    wire::draw_trails(&mut scene, view, &places, &mut taken);
    wire::draw_packets(&mut scene, view, &places, &mut taken);
    scene.sorted()
}

/// The card of a process. Gives the number of its target.
fn draw_card(
    scene: &mut Scene,
    view: &View<'_>,
    (node, place): (NodeId, super::place::Place),
    look: Card,
) -> usize {
    let target = scene.target(Selection::Node(node));
    let is_lit = view.is_node_lit(node);
    if view.is_selected(&Selection::Node(node)) {
        scene.push(
            Layer::Ground,
            place.grown(3.0).rect(14.0),
            Style::fill(Ink::Glow),
        );
    }
    let (ink, width) = match (is_lit, look) {
        (true, _) => (Ink::Accent, 1.6),
        (false, Card::Marked) => (Ink::Accent, 1.4),
        (false, Card::Plain | Card::Down) => (Ink::Line, 1.0),
    };
    let mut style = Style::fill(Ink::Panel).edged(ink, width);
    if look == Card::Down {
        style = Style::fill(Ink::Sunk).edged(Ink::Faint, 1.0);
        if let Some(stroke) = &mut style.stroke {
            stroke.dash = Some((4.0, 4.0));
            stroke.ink = if is_lit { Ink::Accent } else { Ink::Faint };
        }
    }
    scene.push_for(target, Layer::Card, place.rect(10.0), style);
    target
}

/// How a card looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Card {
    /// As usual.
    Plain,
    /// It coordinates a group.
    Marked,
    /// Its process does not run.
    Down,
}
