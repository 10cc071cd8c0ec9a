package clients

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Report writes the results of the Model Context Protocol programs as Markdown.
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
The suite cannot send a key, so a proxy adds it; everything else reaches Cairn unchanged.

%d of %d server scenarios pass, %d do not apply, %d fail.

Cairn's server offers tools. It announces no prompts, resources, completions or sampling. Scenarios for
those, and scenarios that call tools of the suite, such as %stest_simple_text%s, do not apply (n/a). A
scenario is n/a only if Cairn's response shows this cause. Any other failure fails %smake clients%s.

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
