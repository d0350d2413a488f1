//! The controllers of the quorum.

use super::{Card, draw_card};
use crate::scene::fit::first_fitting;
use crate::scene::place::Place;
use crate::scene::shape::{Align, Font, Scene, Type};
use crate::scene::theme::Ink;
use crate::scene::view::View;
use terrarium_core::base::ids::NodeId;
use terrarium_core::sim::view::{ProcessState, VoterView};
use terrarium_core::trace::event::QuorumState;

/// Draws a controller: its name, and in a quorum of several what it is in it.
pub(super) fn draw(scene: &mut Scene, view: &View<'_>, (node, place): (NodeId, Place)) {
    let voters = &view.stage.controller.voters;
    let voter = voters
        .iter()
        .find(|voter| NodeId::Controller(voter.id) == node);
    let is_down = voter
        .is_some_and(|voter| matches!(voter.process, ProcessState::Dead | ProcessState::Stopped));
    let look = if is_down { Card::Down } else { Card::Plain };
    draw_card(scene, view, (node, place), look);
    let is_active = view.stage.controller.active.map(NodeId::Controller) == Some(node);
    let remark = voter
        .filter(|_| 1 < voters.len() || is_down)
        .map(|voter| note(view, voter));
    let is_low = remark.is_none() || place.height < 30.0;
    let (x, y) = place.centre();
    let font = if is_active && 1 < voters.len() {
        Font::bold(115)
    } else {
        Font::text(115)
    };
    let room = place.width - 10.0;
    let name = view.node_name(node);
    let ink = if is_active { Ink::Text } else { Ink::Mute };
    let align = Align::Middle;
    let short = voter.map(|voter| voter.id.to_string()).unwrap_or_default();
    if let Some(text) = first_fitting(view.measure, &[name, short], font, room) {
        let y = if is_low { y + 4.0 } else { y - 3.0 };
        scene.text((x, y), text, Type { font, align }, ink);
    }
    let font = Font::text(95);
    if let (Some(texts), false) = (remark, is_low)
        && let Some(text) = first_fitting(view.measure, &texts, font, room)
    {
        let ink = if is_down { Ink::Warn } else { Ink::Mute };
        scene.text((x, y + 9.5), text, Type { font, align }, ink);
    }
}

fn note(view: &View<'_>, voter: &VoterView) -> Vec<String> {
    match (voter.process, voter.state) {
        (ProcessState::Paused(_), _) => vec![view.say("stage.paused", &[])],
        (ProcessState::Running, Some(state)) => {
            let state = match state {
                QuorumState::Leader => view.say("stage.quorum-leader", &[]),
                QuorumState::Follower => view.say("stage.quorum-follower", &[]),
                QuorumState::Candidate => view.say("stage.quorum-candidate", &[]),
                QuorumState::Unattached => view.say("stage.quorum-unattached", &[]),
                QuorumState::Resigned => view.say("stage.quorum-resigned", &[]),
            };
            let epoch = voter.epoch.to_string();
            let args = [("state", state.as_str()), ("epoch", &epoch)];
            vec![view.say("stage.quorum-state", &args), state]
        }
        _ => vec![view.say("stage.down", &[])],
    }
}
