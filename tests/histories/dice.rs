//! A small seeded generator (splitmix64): the same seed, the same plans and the same pauses.

#[derive(Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64, stream: u64) -> Self {
        Dice(seed.wrapping_mul(0xd134_2543_de82_ef95) ^ stream.wrapping_mul(0xaf25_1af3_b0f0_25b5))
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }

    pub fn one_of<T: Clone>(&mut self, these: &[T]) -> T {
        these[self.roll(these.len())].clone()
    }

    /// Lets other threads in, one time in so many.
    pub fn pause(&mut self, one_in: usize) {
        if self.roll(one_in) == 0 {
            (0..=self.roll(3)).for_each(|_| std::thread::yield_now());
        } else {
            self.hesitate();
        }
    }

    /// Spins for about as long as a call takes, or for less.
    pub fn hesitate(&mut self) {
        (0..self.roll(24)).for_each(|_| std::hint::spin_loop());
    }
}
