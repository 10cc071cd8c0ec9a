package transcript

import "slices"

// Origin is the author of a text with the role user.
type Origin string

const (
	OriginHuman   Origin = "human"   // the same as an empty origin
	OriginHarness Origin = "harness" // the agent's program: command output, environment, prompt of a sub-agent
	OriginSummary Origin = "summary" // a model's summary of earlier messages
)

// Details are what a session file states about a message in addition to its text. All are stored. None is
// sent to models, except through Material.
type Details struct {
	Reasoning string     `json:"reasoning,omitempty"` // stored, never sent to a model
	IsError   bool       `json:"is_error,omitempty"`  // of a tool message: the call failed
	ExitCode  *int       `json:"exit_code,omitempty"` // of a command; nil if unknown
	Model     string     `json:"model,omitempty"`     // that wrote the message
	Thread    string     `json:"thread,omitempty"`    // the sub-agent; empty for the main agent
	Origin    Origin     `json:"origin,omitempty"`    // empty means human
	Media     []Media    `json:"media,omitempty"`     // images and files, without their bytes
	Place     *FilePlace `json:"place,omitempty"`     // in the imported file
}

// Media is an image or file of a message. Its bytes are not kept.
type Media struct {
	Kind   string `json:"kind"`             // image, audio, file, …
	MIME   string `json:"mime,omitempty"`   // media type
	SHA256 string `json:"sha256,omitempty"` // of the bytes, if the file held them
	URI    string `json:"uri,omitempty"`    // if the file referred to them
}

// FilePlace is the position of a message in an imported file.
type FilePlace struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`    // from 1
	Pointer string `json:"pointer,omitempty"` // JSON pointer in the line, or in the document
}

// Empty reports whether there are no details.
func (d Details) Empty() bool {
	return d.Reasoning == "" && !d.IsError && d.ExitCode == nil && d.Model == "" && d.Thread == "" &&
		d.Origin == "" && len(d.Media) == 0 && d.Place == nil
}

// FromHuman reports whether a message is text of a person. Only such text counts as a wish or a
// correction.
func (m Message) FromHuman() bool {
	return m.Role == User && (m.Origin == "" || m.Origin == OriginHuman)
}

// WithoutPlaces returns a copy of messages without their places. A copy of a file under another name
// has the same messages then.
func WithoutPlaces(messages []Message) []Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Place = nil
	}
	return out
}

// Speaker returns the role of a message for models: text that no person wrote has its origin
// instead of the role user.
func (m Message) Speaker() string {
	if m.Role == User && !m.FromHuman() {
		return string(m.Origin)
	}
	return string(m.Role)
}
