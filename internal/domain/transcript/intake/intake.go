// Package intake reads the session files of agents and chat programs.
//
//	result, err := intake.Read("session.jsonl", file, intake.Options{})
//	fmt.Println(result.Report) // claude-code 2.1 · 1 conversation · 214 messages · …
//
// Read chooses the adapter of the format from the beginning of the input. An adapter keeps every
// text, tool call and result, or counts it in the report. An error states the format, the file,
// the line and the column.
package intake

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
)

// MaxInput is the default limit of an input: 64 MiB.
const MaxInput = 64 << 20

// MaxMessages is the maximum number of messages and other parts of an input. A message of 30 bytes takes a kilobyte of
// memory.
const MaxMessages = 100_000

// tooMany is the panic of a sink that has more.
type tooMany struct{}

// Hint is the remedy for inputs that cannot be read.
const Hint = "run `cairn formats` to list the formats; --format NAME forces one"

// Options are the options of Read.
type Options struct {
	Format       string // name of the adapter; empty means to detect it
	Limit        int64  // in bytes; 0 means MaxInput
	AllowUnknown bool   // accept more than transcript.MaxUnknown percent of unknown parts
}

// Result is the content of an input.
type Result struct {
	Conversations []transcript.Conversation `json:"conversations"`
	Report        transcript.ImportReport   `json:"report"`
}

// Adapter reads one format.
type Adapter struct {
	Name  string
	About string   // one line for people
	Keys  []string // that occur in the format, for the nearest formats of an unknown input
	inner bool     // claim also judges the messages of an object

	// claim states how sure it is that a record has this format: foreign, possible, likely or
	// certain, with a reason.
	claim func(r record) (level, string)
	read  func(s *JSONSource, k *Sink) error
}

// level is the certainty of a claim.
type level int

const (
	foreign level = iota
	possible
	likely
	certain
)

// Read reads all conversations of an input. name is the base name of the file. Read consumes at
// most Limit+1 bytes. An error is a *fault.Error.
func Read(name string, r io.Reader, o Options) (out Result, err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case tooMany:
			out, err = Result{}, fault.New(fault.TooLarge, fmt.Sprintf("%s: more than %d messages", name, MaxMessages),
				"divide it into several files")
		default:
			panic(cause)
		}
	}()
	if o.Limit <= 0 {
		o.Limit = MaxInput
	}
	source := NewJSONSource(name, r, o.Limit, ProbeSize, Hint)
	probe, err := probeOf(source)
	if err != nil {
		return Result{}, err
	}
	adapter, reason, err := choose(probe, o.Format)
	if err != nil {
		return Result{}, explain(source, probe, err)
	}
	source.Format = adapter.Name
	sink := &Sink{source: source, report: transcript.ImportReport{Format: adapter.Name, Reason: reason}}
	source.Torn = func(place string, size int) {
		sink.warn("%s: the last line is cut off; %d bytes are left out", place, size)
	}
	if err := adapter.read(source, sink); err != nil {
		return Result{}, err
	}
	conversations := sink.finish()
	if err := sink.refuse(o.AllowUnknown, len(conversations)); err != nil {
		return Result{}, err
	}
	return Result{Conversations: conversations, Report: sink.report}, nil
}

// probeOf returns the beginning of an input without consuming it.
func probeOf(s *JSONSource) (Probe, error) {
	head, whole, err := s.Head(ProbeSize)
	if err == nil && whole && len(bytes.TrimSpace(head)) == 0 {
		err = fault.New(fault.InvalidArgument, s.Name+": empty", Hint)
	}
	if err != nil {
		return Probe{}, err
	}
	return newProbe(s.Name, head, whole), nil
}

// explain replaces the error about an unknown format by an error about damage, if there is any.
func explain(s *JSONSource, p Probe, unknown error) error {
	if !IsUnknown(unknown) || !p.Whole {
		return unknown
	}
	problem := s.CheckText(NewChunk(p.Head, 1))
	if problem == nil && p.json {
		problem = s.Records(func(JSONValue) error { return nil })
	}
	if problem != nil {
		return problem
	}
	return unknown
}

// refuse returns an error for an input that was mostly not understood.
func (k *Sink) refuse(allow bool, conversations int) error {
	unknown := k.report.AllUnknown()
	if unknown*100 > k.report.Parts*transcript.MaxUnknown && !allow {
		return fault.New(fault.InvalidArgument,
			fmt.Sprintf("%s: %s: %d of %d parts are of unknown kinds: %s", k.source.Format, k.source.Name, unknown,
				k.report.Parts, k.report.UnknownKinds()),
			"add --allow-unknown to keep them as JSON text")
	}
	if conversations == 0 {
		return fault.New(
			fault.InvalidArgument,
			fmt.Sprintf("%s: %s: no messages", k.source.Format, k.source.Name),
			Hint,
		)
	}
	return nil
}

// Messages reads OpenAI chat messages, the format of Cairn's own interfaces. name identifies the
// input in errors.
func Messages(name string, raw []byte) ([]transcript.Message, error) {
	result, err := Read(name, bytes.NewReader(raw),
		Options{Format: OpenAIChat, Limit: int64(len(raw)), AllowUnknown: true})
	if f := fault.From(err); f != nil && f.Hint == Hint { // callers have no flags
		return nil, fault.New(f.Code, f.Message, "send at least one message with a role and content")
	}
	if err != nil {
		return nil, err
	}
	if n := len(result.Conversations); n != 1 {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("%s contain %d conversations", name, n),
			"send the messages of one conversation")
	}
	return transcript.WithoutPlaces(result.Conversations[0].Messages), nil
}

// Format describes a format for people.
type Format struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// Formats returns all formats in alphabetical order.
func Formats() []Format {
	var out []Format
	for _, a := range adapters() {
		out = append(out, Format{a.Name, a.About})
	}
	slices.SortFunc(out, func(a, b Format) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// unknownRole returns the error for a role that no spelling matches.
func unknownRole(s *JSONSource, v JSONValue, role string) error {
	return fault.New(fault.InvalidArgument, s.Bad(v, "unknown role %q", role).Error(), transcript.RoleHint)
}
