//! Plays SIZE moves from each of five positions. Before each move, it counts the positions that are
//! three or four moves ahead. `chess SIZE` prints a line for each of the five positions.

use cozy_chess::{Board, Move};

const POSITIONS: [(&str, u32); 5] = [
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 3),
    ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 3),
    ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 4),
    ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 3),
    ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", 3),
];

/// Positions after `depth` moves, and a hash of them that doesn't depend on the order.
fn perft(board: &Board, depth: u32) -> (u64, u64) {
    if depth == 0 {
        return (1, board.hash());
    }
    let (mut count, mut hash) = (0, 0u64);
    board.generate_moves(|moves| {
        for mv in moves {
            let mut next = board.clone();
            next.play_unchecked(mv);
            let (c, h) = perft(&next, depth - 1);
            count += c;
            hash = hash.wrapping_add(h.rotate_left(depth));
        }
        false
    });
    (count, hash)
}

/// A legal move, chosen by the number of the turn; `None` if the game is over.
fn choose(board: &Board, turn: usize) -> Option<Move> {
    let mut all = Vec::new();
    board.generate_moves(|moves| {
        all.extend(moves);
        false
    });
    all.get((turn * 7 + 3) % all.len().max(1)).copied()
}

fn main() {
    let size: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("usage: chess SIZE");
    for (fen, depth) in POSITIONS {
        let mut board: Board = fen.parse().expect("a position");
        let (mut count, mut hash) = (0, 0u64);
        for turn in 0..size {
            let (c, h) = perft(&board, depth);
            count += c;
            hash = hash.wrapping_mul(31).wrapping_add(h);
            match choose(&board, turn) {
                Some(mv) => board.play(mv),
                None => board = fen.parse().expect("a position"),
            }
        }
        println!("{count} {hash:016x} {board}");
    }
}
