package app

// Waiting is what the log says while Serve waits.
const Waiting = waiting
