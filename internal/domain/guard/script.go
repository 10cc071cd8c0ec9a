package guard

import (
	"path"
	"slices"
	"strings"
)

// programs are the extensions of files that can be run.
var programs = []string{"", ".py", ".sh", ".bash", ".js", ".mjs", ".ts", ".sql", ".ps1", ".rb", ".pl", ".bat", ".cmd"}

// ScanScript looks for harm in a program: what Scan finds at Strict, such as
// environment variables sent away or downloaded code that is run, and as
// cautions commands put together from values and hosts that are not widely
// known. name tells what kind of file it is; one that cannot be run gets Scan
// alone. Nothing is ever executed.
func ScanScript(name, code string) []Finding {
	findings := Scan(code, Strict)
	if !slices.Contains(programs, strings.ToLower(path.Ext(name))) {
		return findings
	}
	return settled(append(findings, scanRules(fold(code), programRules(), Strict)...))
}
