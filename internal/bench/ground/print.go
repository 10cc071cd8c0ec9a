package ground

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Seconds is a duration as results show it.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// mostFindings is how many findings PrintFindings shows.
const mostFindings = 40

// PrintFindings writes what is behind counts that should be 0, a line each.
func PrintFindings(w io.Writer, findings []string) {
	for i, f := range findings {
		if i == mostFindings {
			fmt.Fprintln(w, "…")
			break
		}
		fmt.Fprintln(w, "found:", f)
	}
}

// KeepLog keeps the worker's last words where the folder's end does not reach,
// and tells where, when it said anything.
func (g *Ground) KeepLog() (findings []string) {
	const lastWords = 64 << 10
	raw, err := os.ReadFile(g.workerLog.Name())
	if err != nil || len(raw) == 0 {
		return nil
	}
	kept, err := os.CreateTemp("", "cairn-"+g.options.Name+"-worker-*.log")
	if err != nil {
		return nil
	}
	defer kept.Close()
	if _, err := kept.Write(raw[max(0, len(raw)-lastWords):]); err != nil {
		return nil
	}
	return []string{"the worker's log is kept in " + kept.Name()}
}
