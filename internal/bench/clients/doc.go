// Package clients runs programs that others have written against a Cairn of its
// own: mem0's npm client, the conformance suite and the Inspector of the Model
// Context Protocol, and a validator of Agent Skills. They are installed by npm
// into a folder that is thrown away, at the versions below; nothing of them is
// changed. The gateway is `cairn serve` with its development stack and the
// offline model, the command line is the one that users type.
package clients
