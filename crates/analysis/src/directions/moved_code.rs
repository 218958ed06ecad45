//! Finds the place where an edge leads, behind code that the optimizer moved.

use std::cmp::Ordering;
use std::collections::HashSet;

use holloway_format::Place;

use super::chains::{Chain, ChainEnd};
use super::code::Code;

impl Code<'_> {
    /// The first known place after an edge, and its block.
    pub(super) fn arrival(&self, chain: &Chain) -> (u32, Option<Place>) {
        let to = self.edge(chain.edge).to;
        if let Some((block, place)) = chain.places.first() {
            return (*block, Some(*place));
        }
        match chain.end {
            ChainEnd::Block(block) => (to, self.branch_place(block)),
            ChainEnd::Exit(edge) => (to, self.edge(edge).place.filter(|place| place.line != 0)),
            ChainEnd::Back(edge) => (to, self.opening_place(self.edge(edge).to)),
        }
    }

    /// The place where an edge leads, with its block: `arrival`, unless moved code stands there.
    pub(super) fn behind_moved_code(
        &self,
        branch_frames: &[Place],
        chain: &Chain,
        arrival: (u32, Option<Place>),
    ) -> (u32, Option<Place>) {
        let (block, Some(place)) = arrival else {
            return arrival;
        };
        match self.order(branch_frames, place) {
            Some(Ordering::Less) => self.behind_earlier_code(branch_frames, chain, arrival),
            Some(Ordering::Equal) | None => arrival,
            Some(Ordering::Greater) => (
                block,
                Some(self.behind_later_code(branch_frames, block, place)),
            ),
        }
    }

    /// The place behind code from before the branch: the first place that is not before the branch.
    fn behind_earlier_code(
        &self,
        branch_frames: &[Place],
        chain: &Chain,
        arrival: (u32, Option<Place>),
    ) -> (u32, Option<Place>) {
        let is_not_before = |place: &Place| {
            let order = self.order(branch_frames, *place);
            order.is_some_and(Ordering::is_ge)
        };
        let last = match chain.end {
            ChainEnd::Block(block) => self.branch_place(block).map(|place| (block, place)),
            ChainEnd::Back(_) | ChainEnd::Exit(_) => None,
        };
        let known = chain.places.iter().copied();
        let from_arrival = known.skip_while(|&(block, place)| (block, Some(place)) != arrival);
        let places = from_arrival.chain(last);
        let mut later = places.filter(|(_, place)| is_not_before(place));
        later
            .next()
            .map_or(arrival, |(block, place)| (block, Some(place)))
    }

    /// The place behind code that was moved up: the first line of the block in the source, if it is
    /// behind the branch.
    fn behind_later_code(&self, branch_frames: &[Place], block: u32, first: Place) -> Place {
        let is_behind =
            |place: &Place| self.order(branch_frames, *place) == Some(Ordering::Greater);
        let places = self.map.blocks[block as usize].places.iter().copied();
        let from_first = places.skip_while(|place| *place != first);
        let of_scope = from_first.filter(|place| place.scope == first.scope);
        let behind = of_scope.filter(is_behind);
        behind.min_by_key(|place| place.line).unwrap_or(first)
    }

    /// Whether an edge leads to a place before the branch in the source from which control goes
    /// back to the head of a loop without running another line.
    pub(super) fn iterates(&self, branch_frames: &[Place], chain: &Chain, place: Place) -> bool {
        if self.order(branch_frames, place) != Some(Ordering::Less) {
            return false;
        }
        let line_frames = self.frames(Some(place));
        let first = self.edge(chain.edge).to;
        let mut seen = HashSet::from([first]);
        let mut worklist = vec![first];
        while let Some(block) = worklist.pop() {
            // A jump has the line of the statement before it.
            let places = self.map.blocks[block as usize].places.iter().copied();
            let branch = self.branch_place(block);
            let branch = branch.filter(|_| self.out[block as usize].len() > 1);
            let mut places = places.filter(|place| place.line != 0).chain(branch);
            if !places.all(|place| self.on_line(&line_frames, place)) {
                continue;
            }
            for &number in &self.out[block as usize] {
                if self.is_back(number) {
                    return true;
                }
                let to = self.edge(number).to;
                if seen.insert(to) {
                    worklist.push(to);
                }
            }
        }
        false
    }
}
