// Package recording stores the replies of a model in a file, and plays them back. With a recording, an
// evaluation can be repeated without the model.
//
// A recording is a text file of JSON lines. The first line names the format and the models; each other
// line is one exchange: the SHA-256 of the exact request body, and the reply.
//
//	{"format": "cairn-recording", "version": 1}
//	{"sha256": "9f86d0…", "model": "gpt-4o-mini", "stage": "remember", "reply": {"text": "…", …}}
//
// A request that is repeated gets the reply that was recorded first, also while recording. Otherwise a
// later request that contains the reply could not be found again.
package recording

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
)

// Format and Version are in the first line of a recording.
const (
	Format  = "cairn-recording"
	Version = 1
)

type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// exchange is one line.
type exchange struct {
	SHA   string    `json:"sha256"`
	Model string    `json:"model"`
	Stage string    `json:"stage,omitempty"`
	Reply llm.Reply `json:"reply"`
}

func hashOf(p llm.PreparedRequest) string {
	sum := sha256.Sum256(p.Body)
	return hex.EncodeToString(sum[:])
}

// Recording holds the exchanges of a file.
type Recording struct {
	Models  []string // of the requests, ascending
	replies map[string]llm.Reply
	length  int64 // of the complete lines in bytes
}

// Len returns the number of replies.
func (r Recording) Len() int { return len(r.replies) }

// Read reads a recording. The last line may be incomplete, after a crash.
func Read(path string) (out Recording, err error) {
	file, err := os.Open(path)
	if err != nil {
		return out, fault.Wrap(err, fault.InvalidArgument, "cannot open the recording",
			"pass a file that `cairn eval memskill --record FILE` has written")
	}
	defer file.Close()
	out.replies = map[string]llm.Reply{}
	lines := bufio.NewReader(file)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // without its end, the line is incomplete
			slices.Sort(out.Models)
			if n == 1 {
				return out, unreadable(path, n, errors.New("the first line is missing"))
			}
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("read the recording: %w", err)
		}
		if err := out.add(n, line); err != nil {
			return out, unreadable(path, n, err)
		}
		out.length += int64(len(line))
	}
}

// add reads one line.
func (r *Recording) add(n int, line []byte) error {
	if n == 1 {
		var h header
		if err := json.Unmarshal(line, &h); err != nil {
			return err
		}
		if h.Format != Format || h.Version != Version {
			return fmt.Errorf("format %q, version %d; want %q, version %d", h.Format, h.Version, Format, Version)
		}
		return nil
	}
	var e exchange
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	if len(e.SHA) != 2*sha256.Size {
		return errors.New("sha256 is missing or has another length")
	}
	if _, double := r.replies[e.SHA]; !double {
		r.replies[e.SHA] = e.Reply
	}
	if !slices.Contains(r.Models, e.Model) {
		r.Models = append(r.Models, e.Model)
	}
	return nil
}

func unreadable(path string, line int, err error) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("%s, line %d: not a recording: %v", path, line, err),
		"pass a file that `cairn eval memskill --record FILE` has written")
}

// appendTo opens a recording for writing, and creates it with its first line if it does not exist.
func appendTo(path string) (*os.File, Recording, error) {
	old, err := Read(path)
	if errors.Is(err, fs.ErrNotExist) || isEmpty(path) {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, old, err
		}
		first, err := json.Marshal(header{Format, Version})
		if err == nil {
			_, err = file.Write(append(first, '\n'))
		}
		return file, Recording{replies: map[string]llm.Reply{}}, err
	}
	if err != nil {
		return nil, old, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0o600)
	if err != nil {
		return nil, old, err
	}
	if err := file.Truncate(old.length); err != nil {
		return nil, old, errors.Join(err, file.Close())
	}
	_, err = file.Seek(old.length, io.SeekStart)
	return file, old, err
}

func isEmpty(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == 0
}

// asksForSchema reports whether a request asks the endpoint for a JSON Schema.
func asksForSchema(body []byte) bool { return bytes.Contains(body, []byte(`"response_format"`)) }
