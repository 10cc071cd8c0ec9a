// Command cairn is the command line of Cairn. It runs the development stack, the workers and
// the gateway, and it manages conversations, memories, skills and runs.
package main

import "cairn/internal/app/cli"

func main() { cli.Execute() }
