package dump

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"regexp"
	"slices"

	"cairn/internal/domain/decoding"
	"cairn/internal/domain/dumpfile"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
)

// maxLine is the maximum length of a line in bytes: a memory with all its versions.
const maxLine = 32 << 20

// reader reads lines. Its number of lines starts at 1.
type reader struct {
	s    *bufio.Scanner
	n    int
	held bool // next returns the current line again
}

func newReader(r io.Reader) *reader {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxLine)
	return &reader{s: s}
}

// next advances to the next line and reports whether there is one.
func (r *reader) next() bool {
	if r.held {
		r.held = false
		return true
	}
	if !r.s.Scan() {
		return false
	}
	r.n++
	return true
}

// unread makes next return the current line again.
func (r *reader) unread() { r.held = true }

// line returns the current line, until the next call of next.
func (r *reader) line() []byte { return r.s.Bytes() }

// err returns the error because of which next returned false.
func (r *reader) err() error {
	if errors.Is(r.s.Err(), bufio.ErrTooLong) {
		return fault.New(fault.TooLarge, fmt.Sprintf("line %d has more than %d bytes", r.n+1, maxLine), "")
	}
	return r.s.Err()
}

// checked describes a file that can be loaded.
type checked struct {
	header Header
	legacy bool // file of another program, without a header
	ids    subjects
	signed string // Verified, Unsigned or Invalid
}

// check reads a whole file and returns the first error in it. signed computes its signature.
func check(r io.Reader, signed hash.Hash) (out checked, err error) {
	c := checker{sum: sha256.New(), signed: signed, signature: Unsigned, sessions: map[string]bool{}, ids: subjects{}}
	from := newReader(r)
	for from.next() {
		if err := c.bounded(from.n, from.line()); err != nil {
			return out, err
		}
	}
	if err := from.err(); err != nil {
		return out, err
	}
	switch {
	case c.n == 0:
		return out, fault.New(
			fault.InvalidArgument,
			"empty file",
			"send a file that `cairn memories dump FILE` has written",
		)
	case c.missing > 0:
		return out, dumpfile.Wrong(c.n, "conversation %q has %d messages less than announced", c.conversation,
			c.missing)
	case !c.legacy && !c.ended:
		return out, dumpfile.Wrong(c.n, "file is truncated: no last line")
	}
	return checked{header: c.header, legacy: c.legacy, ids: c.ids, signed: c.signature}, nil
}

// checker holds the state that lines refer to. It keeps the IDs of all sessions, at 16 characters each.
type checker struct {
	n            int
	header       Header
	legacy       bool
	ended        bool
	sum          hash.Hash
	signed       hash.Hash
	signature    string
	conversation string // conversation whose messages follow
	seq, missing int
	sessions     map[string]bool
	kind         string // of the line before
	ids          subjects
}

var idForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

// bounded checks a line that has not too many values, when it may be decoded.
func (c *checker) bounded(n int, raw []byte) error {
	if decoding.Count(raw) > decoding.MaxValues {
		return fault.New(fault.TooLarge, fmt.Sprintf("line %d has more than %d JSON values", n, decoding.MaxValues),
			"divide its memory; nothing was loaded")
	}
	release, err := decoding.Begin(context.Background(), len(raw)) // a line waits for others only
	if err != nil {
		return err
	}
	defer release()
	return c.line(n, raw)
}

func (c *checker) line(n int, raw []byte) error {
	defer func() {
		for _, of := range []hash.Hash{c.sum, c.signed} {
			of.Write(raw)
			of.Write([]byte("\n"))
		}
		c.n = n
	}()
	if c.ended {
		return dumpfile.Wrong(n, "unexpected data after the last line of the dump")
	}
	if n == 1 {
		first, err := isHeader(raw)
		if err != nil {
			return err
		}
		if c.legacy = first == nil; !c.legacy {
			c.header = *first
			return nil
		}
	}
	if c.legacy {
		if len(bytes.TrimSpace(raw)) == 0 {
			return nil
		}
		_, err := foreign(n, raw)
		return err
	}
	kind, err := kindOf(raw)
	if err != nil {
		return dumpfile.Wrong(n, "invalid JSON: %v", err)
	}
	if kind == KindEnd {
		return c.end(n, raw)
	}
	l, known, err := decode(kind, raw)
	if err != nil {
		return dumpfile.Wrong(n, "%v", err)
	}
	if !known {
		return dumpfile.Wrong(n, "unknown kind of line %q", kind)
	}
	if part(kind) < part(c.kind) {
		return dumpfile.Wrong(n, "unexpected %s after a line of kind %q", kind, c.kind)
	}
	c.kind = kind
	if c.missing > 0 && l.Message == nil {
		return dumpfile.Wrong(n, "conversation %q has %d messages less than announced", c.conversation, c.missing)
	}
	return c.content(n, l)
}

// part returns the number of the part of a file that has lines of a kind: what memories refer to,
// memories, documents.
func part(kind string) int {
	switch kind {
	case KindMemory:
		return 1
	case dumpfile.KindIdentity, dumpfile.KindSoul:
		return 2
	}
	return 0
}

// kindOf returns the kind of a line. Dumps write it first, which saves decoding the line twice.
func kindOf(raw []byte) (string, error) {
	if rest, first := bytes.CutPrefix(raw, []byte(`{"kind":"`)); first {
		if kind, _, ok := bytes.Cut(rest, []byte(`",`)); ok && !bytes.ContainsAny(kind, `\"`) {
			return string(kind), nil
		}
	}
	var line struct {
		Kind string `json:"kind"`
	}
	err := json.Unmarshal(raw, &line)
	return line.Kind, err
}

// isHeader decodes the header in the first line. It returns nil if the file has none.
func isHeader(raw []byte) (*Header, error) {
	var h Header
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, dumpfile.Wrong(1, "invalid JSON: %v", err)
	}
	if h.Kind != KindHeader {
		return nil, nil
	}
	if h.Format != Format || h.Version != Version {
		return nil, dumpfile.Wrong(1, "unsupported format %s version %d, expected %s version %d", h.Format, h.Version,
			Format,
			Version)
	}
	return &h, nil
}

func (c *checker) end(n int, raw []byte) error {
	var e End
	if err := json.Unmarshal(raw, &e); err != nil {
		return dumpfile.Wrong(n, "%v", err)
	}
	if sum := hex.EncodeToString(c.sum.Sum(nil)); e.Lines != n-1 || e.SHA256 != sum {
		return dumpfile.Wrong(n, "file was changed: the number of lines or the SHA-256 does not match")
	}
	c.ended, c.signature = true, signature(e.HMAC, c.signed)
	return nil
}

var types = []memory.Type{memory.Core, memory.Profile, memory.Note, memory.Personal, memory.Procedural,
	memory.Guideline, memory.Summary}

func (c *checker) content(n int, l one) error {
	switch {
	case l.Target != nil:
		if t := l.Target; !slices.Contains(memory.Registered, memory.Type(t.Type)) || t.Key == "" || t.Display == "" {
			return dumpfile.Wrong(n, "target without type, key or name")
		}
		c.ids.note(*l.Target)
	case l.Conversation != nil:
		if l.Conversation.ID == "" || l.Conversation.Messages < 0 {
			return dumpfile.Wrong(n, "conversation without ID or number of messages")
		}
		if err := l.Conversation.Numbers(n); err != nil {
			return err
		}
		c.conversation, c.seq, c.missing = l.Conversation.ID, 0, l.Conversation.Messages
	case l.Message != nil:
		m := l.Message
		if c.missing == 0 || m.Seq != c.seq ||
			!slices.Contains([]transcript.Role{transcript.User, transcript.Assistant, transcript.Tool,
				transcript.System}, m.Role) {
			return dumpfile.Wrong(n, "message out of order")
		}
		c.seq, c.missing = c.seq+1, c.missing-1
	case l.History != nil:
		if h := l.History; !idForm.MatchString(h.ID) || h.Range.FromSeq < 0 || h.Range.ToSeq < h.Range.FromSeq ||
			h.Range.Conversation == "" {
			return dumpfile.Wrong(n, "session without ID or range of messages")
		}
		if err := dumpfile.Whole(n, l.History.Range.ToSeq); err != nil {
			return err
		}
		c.sessions[l.History.ID] = true
	case l.Memory != nil:
		return c.memory(n, l.Memory)
	case l.Identity != nil || l.Soul != nil:
		d := l.Identity
		if d == nil {
			d = l.Soul
		}
		if d.Version < 1 {
			return dumpfile.Wrong(n, "document without version")
		}
		if err := dumpfile.Whole(n, d.Version); err != nil {
			return err
		}
		return c.refers(n, d.History)
	}
	return nil
}

func (c *checker) memory(n int, m *dumpfile.Memory) error {
	sum := sha256.Sum256([]byte(m.Content))
	switch {
	case !idForm.MatchString(m.ID) || !slices.Contains(types, m.Type) || m.Content == "" || m.Version < 1 ||
		len(m.Revisions) == 0:
		return dumpfile.Wrong(n, "memory without ID, type, content, version or history")
	case m.SHA256 != hex.EncodeToString(sum[:]):
		return dumpfile.Wrong(n, "content of memory %s does not match its hash", m.ID)
	case !slices.Contains([]memory.Status{memory.Active, memory.Superseded, memory.Removed, memory.Quarantined},
		m.Status):
		return dumpfile.Wrong(n, "memory %s has invalid status %q", m.ID, m.Status)
	case len(m.Vector) > 0 && len(m.Vector) != c.header.Dims:
		return dumpfile.Wrong(n, "vector of memory %s has %d dimensions, expected %d", m.ID, len(m.Vector),
			c.header.Dims)
	}
	if err := origin(n, m.Origin); err != nil {
		return err
	}
	if err := m.Numbers(n); err != nil {
		return err
	}
	versions := map[int]bool{}
	for _, r := range m.Revisions {
		if r.Version < 1 || versions[r.Version] || !slices.Contains(actions, r.Action) {
			return dumpfile.Wrong(n, "memory %s has invalid or repeated versions", m.ID)
		}
		versions[r.Version] = true
	}
	return c.refers(n, append(slices.Clone(m.Histories), m.First)...)
}

var actions = []memory.Action{memory.Add, memory.Replace, memory.Remove, memory.Merge, memory.Restore, memory.Undo,
	memory.Move, memory.Return}

var origins = []string{"user", "agent", "nudge", "reflection", "distill", "designer", "import"}

func origin(n int, name string) error {
	if !slices.Contains(origins, name) {
		return dumpfile.Wrong(n, "unknown origin %q", name)
	}
	return nil
}

func (c *checker) refers(n int, sessions ...string) error {
	for _, id := range sessions {
		if id != "" && !c.sessions[id] {
			return dumpfile.Wrong(n, "session %s not found in the file", id)
		}
	}
	return nil
}
