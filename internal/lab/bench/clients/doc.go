// Package clients tests Cairn with programs of other projects: mem0's clients for JavaScript and
// Python, the conformance suite and the Inspector of the Model Context Protocol, and a validator of
// Agent Skills. It installs them unchanged: with npm into a temporary folder, in the versions
// of Packages, and with pip into Cairn's cache, in the versions of mem0Python. The
// gateway is `cairn serve` with its own development stack and the offline model. The command line is bin/cairn.
//
// RunOpenAI does the same with OpenAI's clients, and RunChannels runs the SDKs of chat platforms with Cairn's fakes of
// these platforms.
package clients
