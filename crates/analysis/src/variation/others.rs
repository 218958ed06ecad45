//! Estimates what is usual for the other paths of a run.

/// The quantile of the other paths' values that counts as usual.
const QUANTILE: f64 = 0.25;

/// A value of each path, weighted by a time. The values are losses or rates.
pub(super) struct Others {
    /// Smallest value first: the value, and the running total of the time up to and including its
    /// path.
    sorted: Vec<(f64, f64)>,
    /// By path: its index in `sorted`, and its time.
    by_path: Vec<Option<(usize, f64)>>,
}

impl Others {
    /// Sorts the paths' values. The items are value and time, or `None` if the path does not
    /// contribute.
    pub(super) fn new(paths: impl Iterator<Item = Option<(f64, f64)>>) -> Others {
        let mut by_path = Vec::new();
        let mut values = Vec::new();
        for (index, measured) in paths.enumerate() {
            by_path.push(None);
            values.extend(measured.map(|(value, time)| (value, time, index)));
        }
        values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        let mut sum = 0.0;
        let sorted = values
            .into_iter()
            .enumerate()
            .map(|(order, (value, time, index))| {
                by_path[index] = Some((order, time));
                sum += time;
                (value, sum)
            });
        Others {
            sorted: sorted.collect(),
            by_path,
        }
    }

    /// The 25 % quantile of the other paths' values; `None` if there is no other path.
    pub(super) fn quantile_without(&self, path: usize) -> Option<f64> {
        let (_, all) = self.sorted.last()?;
        let (order, own_time) = self.by_path[path].unwrap_or((usize::MAX, 0.0));
        if self.sorted.len() == 1 && order == 0 {
            return None;
        }
        let wanted = QUANTILE * (all - own_time);
        let up_to = |time: f64| self.sorted.partition_point(|(_, sum)| *sum < time);
        let mut index = up_to(wanted);
        if index >= order {
            // The running totals from this path on include its own time.
            index = up_to(wanted + own_time).max(order + 1);
        }
        self.sorted
            .get(index)
            .or(self.sorted.last())
            .map(|(value, _)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::Others;

    /// Compares the binary search with a linear search through the other paths.
    #[test]
    fn finds_the_quantile_of_the_other_paths_values() {
        let measured = [
            Some((0.3, 10.0)),
            None,
            Some((0.1, 4.0)),
            Some((0.2, 1.0)),
            Some((2.0, 30.0)),
            Some((0.1, 2.0)),
        ];
        let others = Others::new(measured.into_iter());
        for path in 0..measured.len() {
            let rest = measured
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != path);
            let mut rest: Vec<_> = rest.filter_map(|(_, measured)| *measured).collect();
            rest.sort_by(|a, b| a.0.total_cmp(&b.0));
            let all: f64 = rest.iter().map(|(_, time)| time).sum();
            let mut sum = 0.0;
            let naive = rest.iter().find(|(_, time)| {
                sum += time;
                sum >= all / 4.0
            });
            assert_eq!(
                others.quantile_without(path),
                naive.map(|(loss, _)| *loss),
                "{path}"
            );
        }
        assert_eq!(
            Others::new([Some((0.5, 1.0))].into_iter()).quantile_without(0),
            None
        );
        assert_eq!(
            Others::new([None, Some((0.5, 1.0))].into_iter()).quantile_without(0),
            Some(0.5)
        );
    }
}
