package guard

import (
	"path"
	"slices"
	"strings"
)

// programs are the extensions of executable files.
var programs = []string{"", ".py", ".sh", ".bash", ".js", ".mjs", ".ts", ".sql", ".ps1", ".rb", ".pl", ".bat", ".cmd"}

// ScanScript finds harmful code in a program. It reports the findings of Scan at Strict, such as
// environment variables sent to a host or downloaded code that is run. It adds cautions for
// commands built from values and for hosts that are not widely known. name determines the type of
// file. For a file that is not executable, it is Scan only. It never executes code.
func ScanScript(name, code string) []Finding {
	findings := Scan(code, Strict)
	if !slices.Contains(programs, strings.ToLower(path.Ext(name))) {
		return findings
	}
	return sortFindings(append(findings, scanRules(fold(code), programRules(), Strict)...))
}
