// Command cairn is the command line: the development stack, conversations and
// what is remembered of them, distillation, skills and runs, and the gateway.
package main

import "cairn/internal/app/cli"

func main() { cli.Execute() }
