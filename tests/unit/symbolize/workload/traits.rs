// Generic functions, closures and trait methods, under either of Rust's naming schemes.
use std::collections::BTreeMap;

trait Area {
    fn area(&self) -> f64;
}

struct Square<T>(T);

impl<T: Copy + Into<f64>> Area for Square<T> {
    #[inline(never)]
    fn area(&self) -> f64 {
        let side: f64 = self.0.into();
        scaled(side) * side
    }
}

#[inline(always)]
fn scaled(x: f64) -> f64 {
    // What black_box is for, which rustc 1.63 does not have yet.
    unsafe { std::ptr::read_volatile(&x) * 3.0 + 1.0 }
}

#[inline(never)]
fn repeat<F: Fn(u64) -> u64>(n: u64, f: F) -> u64 {
    (0..n).map(|i| f(i)).sum()
}

fn main() {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for argument in std::env::args() {
        *counts.entry(argument).or_insert(0) += 1;
    }
    let shapes: Vec<Box<dyn Area>> = vec![Box::new(Square(2.0f32)), Box::new(Square(3i32))];
    let total: f64 = shapes.iter().map(|shape| shape.area()).sum();
    println!("{} {}", total, repeat(10, |i| i * counts.len() as u64));
}
