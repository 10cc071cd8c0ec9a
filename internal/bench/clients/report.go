package clients

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Report writes what the programs of the Model Context Protocol say of Cairn.
func (r Result) Report(w io.Writer, when time.Time) error {
	var b strings.Builder
	passed, absent := 0, 0
	for _, row := range r.of(conformance) {
		switch row.State {
		case OK:
			passed++
		case NotApplicable:
			absent++
		}
	}
	all := len(r.of(conformance))
	fmt.Fprintf(&b, `# MCP conformance

Written by %smake clients%s on %s with %s@modelcontextprotocol/conformance%s %s and
%s@modelcontextprotocol/inspector%s %s against %scairn serve%s, at /mcp (streamable HTTP, bearer key).
The suite cannot send a key, so a proxy adds it; everything else reaches Cairn as it was sent.

%d of %d server scenarios pass, %d do not apply, %d fail.

Cairn's server offers tools, and announces no prompts, resources, completions or sampling. The suite's
scenarios for those, and those that call tools of its own, such as %stest_simple_text%s, cannot pass
on a server for users. A scenario is listed as one that does not apply only when Cairn's answer shows
that this is the cause; any other failure fails %smake clients%s.

`, "`", "`", when.UTC().Format(time.DateOnly), "`", "`", Packages["@modelcontextprotocol/conformance"], "`", "`",
		Packages["@modelcontextprotocol/inspector"], "`", "`",
		passed, all, absent, all-passed-absent, "`", "`", "`", "`")
	table := func(title, first string, rows []Row) {
		fmt.Fprintf(&b, "## %s\n\n| %s | result | |\n|---|---|---|\n", title, first)
		for _, row := range rows {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", row.Call, row.State, strings.ReplaceAll(row.Detail, "|", "\\|"))
		}
		b.WriteString("\n")
	}
	table("Scenarios", "scenario", r.of(conformance))
	table("Inspector, on the command line", "call", r.of(inspector))
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}
