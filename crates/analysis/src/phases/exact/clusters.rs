//! Clusters items by their distances: average linkage, with as many clusters as have the best
//! silhouette.
//!
//! - *Average linkage*: each item begins as a cluster. The two clusters with the smallest average
//!   distance between their items join, over and over. The order of joins does not depend on
//!   chance.
//! - *Silhouette* (Rousseeuw 1987): let a be the average distance of an item to the other items of
//!   its cluster, and b the smallest average distance to the items of another cluster. The item's
//!   silhouette is (b − a) / max(a, b), and 0 if it is alone. The number of clusters with the
//!   largest mean silhouette is chosen, and of equal numbers the smallest. If that silhouette is
//!   less than ½, the items have no structure worth the name (Kaufman, Rousseeuw 1990): all of them
//!   are one cluster.
//! - Clusters whose average distance is at most 0.1 always join, because profiles that overlap by
//!   0.9 are usually called similar. Otherwise tiny regular differences would make clusters:
//!   windows whose length is no multiple of the period of a loop, for example.
//!
//! Cost: quadratic in the items for the joins (nearest-neighbor chains), and quadratic for each
//! number of clusters that is tried.

/// Maximum number of clusters.
pub(super) const MAX_CLUSTERS: usize = 16;
/// The minimum mean silhouette of more than one cluster.
const MIN_SILHOUETTE: f64 = 0.5;

/// The average distance up to which clusters join in any case.
const MAX_SIMILAR: f32 = 0.1;

/// A symmetric matrix of distances.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    size: usize,
    distances: Vec<f32>,
}

impl Distances {
    /// The distances of `size` items. `row` gives the distances from an item to all items before
    /// it.
    pub(super) fn new<R: Iterator<Item = f32>>(
        size: usize,
        mut row: impl FnMut(usize) -> R,
    ) -> Distances {
        let mut distances = vec![0.0; size * size];
        for a in 0..size {
            for (b, distance) in row(a).enumerate() {
                distances[a * size + b] = distance;
                distances[b * size + a] = distance;
            }
        }
        Distances { size, distances }
    }

    fn get(&self, a: usize, b: usize) -> f32 {
        self.distances[a * self.size + b]
    }

    fn set(&mut self, a: usize, b: usize, distance: f32) {
        self.distances[a * self.size + b] = distance;
        self.distances[b * self.size + a] = distance;
    }

    /// The cluster of each item, numbered by first item, and the mean silhouette. The silhouette of
    /// one cluster is 0.
    pub(super) fn clusters(&self) -> (Vec<usize>, f64) {
        let mut best = (vec![0; self.size], 0.0);
        let joins = self.joins();
        for count in 2..=MAX_CLUSTERS.min(self.size.saturating_sub(1)) {
            let (done, next) = joins.split_at(self.size - count);
            if next[0].0 <= MAX_SIMILAR {
                continue;
            }
            let labels = labels(self.size, done);
            let silhouette = self.mean_silhouette(&labels, count);
            if silhouette >= MIN_SILHOUETTE && silhouette > best.1 + 1e-9 {
                best = (labels, silhouette);
            }
        }
        best
    }

    /// The joins of average linkage, by distance: each has an item of both clusters.
    fn joins(&self) -> Vec<(f32, usize, usize)> {
        let mut matrix = self.clone();
        let mut sizes = vec![1.0f32; self.size];
        let mut is_active = vec![true; self.size];
        let mut joins: Vec<(f32, usize, usize)> = Vec::new();
        let mut chain: Vec<usize> = Vec::new();
        while joins.len() + 1 < self.size {
            if chain.is_empty() {
                chain.extend(is_active.iter().position(|&is_active| is_active));
            }
            let last = chain[chain.len() - 1];
            let before = chain.len().checked_sub(2).map(|index| chain[index]);
            // Of equally near clusters, the one before in the chain, so that the chain ends; else
            // the first.
            let others = (0..self.size).filter(|&other| is_active[other] && other != last);
            let key = |other: usize| (matrix.get(last, other), Some(other) != before);
            let nearest = others.min_by(|&a, &b| {
                let (a, b) = (key(a), key(b));
                a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
            });
            let Some(nearest) = nearest else { break };
            if Some(nearest) != before {
                chain.push(nearest);
                continue;
            }
            chain.truncate(chain.len() - 2);
            let (kept, gone) = (last.min(nearest), last.max(nearest));
            joins.push((matrix.get(kept, gone), kept, gone));
            is_active[gone] = false;
            let sum = sizes[kept] + sizes[gone];
            for other in (0..self.size).filter(|&other| is_active[other] && other != kept) {
                let distance =
                    sizes[kept] * matrix.get(kept, other) + sizes[gone] * matrix.get(gone, other);
                matrix.set(kept, other, distance / sum);
            }
            sizes[kept] = sum;
        }
        joins.sort_by(|a, b| a.0.total_cmp(&b.0));
        joins
    }

    fn mean_silhouette(&self, labels: &[usize], count: usize) -> f64 {
        let mut sizes = vec![0usize; count];
        labels.iter().for_each(|&label| sizes[label] += 1);
        let silhouettes = (0..self.size).map(|item| {
            let own = labels[item];
            if sizes[own] == 1 {
                return 0.0;
            }
            let mut sums = vec![0.0f64; count];
            for (other, &label) in labels.iter().enumerate() {
                sums[label] += f64::from(self.get(item, other));
            }
            let inside = sums[own] / (sizes[own] - 1) as f64;
            let others = (0..count).filter(|&label| label != own);
            let outside = others.map(|label| sums[label] / sizes[label] as f64);
            let outside = outside.fold(f64::INFINITY, f64::min);
            let larger = inside.max(outside);
            if larger > 0.0 {
                (outside - inside) / larger
            } else {
                0.0
            }
        });
        silhouettes.sum::<f64>() / self.size as f64
    }
}

/// The clusters after some joins, numbered by first item.
fn labels(size: usize, joins: &[(f32, usize, usize)]) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..size).collect();
    let root = |parents: &[usize], mut item: usize| {
        while parents[item] != item {
            item = parents[item];
        }
        item
    };
    for &(_, kept, gone) in joins {
        let (kept, gone) = (root(&parents, kept), root(&parents, gone));
        parents[kept.max(gone)] = kept.min(gone);
    }
    let mut numbers = vec![usize::MAX; size];
    let mut next = 0;
    let labels = (0..size).map(|item| {
        let root = root(&parents, item);
        if numbers[root] == usize::MAX {
            numbers[root] = next;
            next += 1;
        }
        numbers[root]
    });
    labels.collect()
}

#[cfg(test)]
mod tests {
    use super::Distances;

    /// Points on a line.
    fn of_points(points: &[f32]) -> Distances {
        Distances::new(points.len(), |a| {
            points[..a]
                .iter()
                .map(move |point| (points[a] - point).abs())
        })
    }

    #[test]
    fn groups_of_points_are_clusters() {
        let (labels, silhouette) = of_points(&[0.0, 0.5, 0.01, 0.51, 1.0, 0.02, 0.99]).clusters();
        assert_eq!(labels, [0, 1, 0, 1, 2, 0, 2]);
        assert!(silhouette > 0.95, "{silhouette}");
    }

    /// Two points at distance 1 from each other, and twice the same point: a = 0 and b = 1.
    #[test]
    fn the_silhouette_of_equal_points_is_1() {
        let (labels, silhouette) = of_points(&[0.0, 0.0, 1.0, 1.0]).clusters();
        assert_eq!((labels, silhouette), (vec![0, 0, 1, 1], 1.0));
    }

    #[test]
    fn points_without_structure_are_one_cluster() {
        // All distances are equal.
        let equal = Distances::new(20, |a| std::iter::repeat_n(0.9, a));
        assert_eq!(equal.clusters(), (vec![0; 20], 0.0));
        let same = Distances::new(20, |a| std::iter::repeat_n(0.0, a));
        assert_eq!(same.clusters(), (vec![0; 20], 0.0));
    }

    /// Two groups, each of equal points: the silhouette is 1, but the groups are near.
    #[test]
    fn similar_groups_are_one_cluster() {
        let near = of_points(&[0.0, 0.09, 0.0, 0.09, 0.0, 0.09]);
        assert_eq!(near.clusters(), (vec![0; 6], 0.0));
        let far = of_points(&[0.0, 0.11, 0.0, 0.11, 0.0, 0.11]);
        assert_eq!(far.clusters(), (vec![0, 1, 0, 1, 0, 1], 1.0));
    }

    #[test]
    fn few_points_are_one_cluster() {
        assert_eq!(of_points(&[]).clusters().0, [0usize; 0]);
        assert_eq!(of_points(&[1.0]).clusters().0, [0]);
        assert_eq!(of_points(&[1.0, 2.0]).clusters().0, [0, 0]);
    }
}
