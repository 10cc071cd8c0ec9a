package intake

import (
	"context"
	"io"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
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
	Imports []Import                `json:"imports" doc:"One for each session file"`
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
	r, files := Reader{Options: u.Options}, []File{}
	err = r.Read(u.Name, u.Content, func(f File) error {
		files = append(files, f)
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
