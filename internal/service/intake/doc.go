// Package intake reads the session files of agents: single files, compressed files, archives and
// folders. It stores their conversations without distilling them.
//
//	r := intake.Reader{Options: intake.Options{}}
//	err := r.Read("session.jsonl.zst", file, func(file string, result format.Result) error { … })
//	fmt.Println(r.Report)
//
// Package internal/domain/transcript/intake has the formats. This package has the limits of archives,
// which can claim any size.
package intake
