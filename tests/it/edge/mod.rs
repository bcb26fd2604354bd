//! The HTTP edge under whatever comes: random requests and answers that are legal, random damage, and clients that
//! take their time.

mod damage;
mod legal;
mod slow;
