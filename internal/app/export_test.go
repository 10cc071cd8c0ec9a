package app

// Waiting is what the log says while Work waits.
const Waiting = waiting
