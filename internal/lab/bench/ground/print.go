package ground

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Seconds formats a duration in seconds.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// maxFindings is the maximum number of findings that PrintFindings writes.
const maxFindings = 40

// PrintFindings writes findings, one per line.
func PrintFindings(w io.Writer, findings []string) {
	for i, f := range findings {
		if i == maxFindings {
			fmt.Fprintln(w, "…")
			break
		}
		fmt.Fprintln(w, "found:", f)
	}
}

// KeepLog copies a non-empty worker log out of the folder and returns a finding with its path.
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
	return []string{"worker log saved to " + kept.Name()}
}
