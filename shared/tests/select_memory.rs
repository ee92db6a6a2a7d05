//! The memory that an index says it takes against what the allocator gave out. The only test of its process, so that nothing else allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rds_shared::pace::{Pace, at_once};
use rds_shared::select::{Filling, Index, Renumbering};

/// Counts the bytes that are allocated at present.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

#[expect(unsafe_code, reason = "an allocator can only be implemented with unsafe code; this one passes every call on")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROWS: usize = 5_000;

/// The index of all rows, given in two blocks.
fn filled(mut index: Filling, rows: usize, shift: usize) -> Index {
    fill(&mut index, 0..rows / 3, shift);
    fill(&mut index, rows / 3..rows, shift);
    at_once(index.finish(&Pace::unbroken()))
}

fn fill(index: &mut Filling, rows: Range<usize>, shift: usize) {
    index.block(rows.len());
    let names: Vec<String> =
        rows.clone().map(|row| format!("Vault {} of {}", row * 7_919 % 10_007, row % 40)).collect();
    let assets: Vec<String> = rows.clone().map(|row| format!("asset-{}", row * row % 701)).collect();
    index.add_numbers(rows.clone().map(|row| (row % 3 > 0).then_some(((row + shift) * 104_729 % 10_007) as f64)), true);
    index.add_integers(rows.clone().map(|row| Some((row % 50) as i64)));
    index.add_names();
    let column = index.add_words(assets.iter().map(|asset| Some(asset.as_str())), true);
    index.add_words(rows.clone().map(|row| Some(if row % 9 == 0 { "open" } else { "closed" })), false);
    index.alias(column, "nothing", "asset-0");
    index.add_flags(rows.map(|row| row % 2 == 0));
    index.set_texts(names.iter().map(|name| [name.as_str(), "symbol"]));
}

#[test]
fn an_index_takes_the_memory_that_it_says() {
    let before = ALLOCATED.load(Ordering::Relaxed);
    let index = filled(Filling::new(), ROWS, 0);
    let taken = ALLOCATED.load(Ordering::Relaxed) - before;
    assert!(index.heap_bytes().abs_diff(taken) * 50 < taken, "{} of {taken} bytes", index.heap_bytes());

    // All rows but the first shift by one, so that nothing but the segments of texts can be shared.
    let rows = (0..ROWS as u32).map(|row| (row.checked_sub(1), true)).chain([(Some(ROWS as u32 - 1), true)]);
    let renumbering = Renumbering::new(ROWS, rows);
    let changed = filled(Filling::after(&index, &renumbering).unwrap(), ROWS + 1, 5);
    drop((index, renumbering));
    let taken = ALLOCATED.load(Ordering::Relaxed) - before;
    assert!(changed.heap_bytes().abs_diff(taken) * 50 < taken, "{} of {taken} bytes", changed.heap_bytes());
}
