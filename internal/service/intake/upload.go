package intake

import (
	"context"
	"fmt"
	"io"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/decoding"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	format "cairn/internal/domain/transcript/intake"
)

// Upload is one file as a program sends it: a session file, a compressed one, or an archive of such files.
type Upload struct {
	Workspace int64
	Name      string // some formats are recognized by it; empty means "body"
	Content   io.Reader
	Options
	Distill bool               // also distill the conversations
	Outcome transcript.Verdict // of the conversations, as a person states it; only with Distill
}

// ImportedFiles are the session files of an upload.
type ImportedFiles struct {
	Imports []conversation.Import   `json:"imports" doc:"One for each session file"`
	Report  transcript.ImportReport `json:"report" doc:"What all files held: what was kept, skipped and not understood"`
}

// Import reads an upload completely, and then accepts its session files. Nothing of a damaged upload is stored. A
// repeated file is not stored again.
func (s *Service) Import(ctx context.Context, u Upload) (out ImportedFiles, err error) {
	if u.Outcome != "" && !u.Distill {
		return out, fault.New(fault.InvalidArgument, "outcome is for skills, and the import does not distill",
			"set distill to true, or omit outcome")
	}
	if u.Name == "" {
		u.Name = "body"
	}
	release, err := decoding.Begin(ctx, decoding.Budget) // what it inflates to is not known
	if err != nil {
		return out, err
	}
	defer release()
	r, files := Reader{Options: u.Options}, []File{}
	err = r.Read(u.Name, u.Content, func(f File) error {
		if files = append(files, f); r.Report.Messages > format.MaxMessages {
			return fault.New(fault.TooLarge, fmt.Sprintf("%s: more than %d messages", u.Name, format.MaxMessages),
				"import it in several parts")
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	out.Imports, err = s.Accept(ctx, Request{Workspace: u.Workspace, Files: files, Options: u.Options,
		Distill: u.Distill, Outcome: u.Outcome})
	out.Report = r.Report
	return out, err
}
