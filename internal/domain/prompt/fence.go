package prompt

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"cairn/internal/domain/fault"
)

// User renders m as the user message: one JSON document in a code fence. Equal values give equal
// bytes. The fence is longer than any run of backticks in the data, so a transcript cannot close
// it.
func User(m Material) (string, error) { return fenced(m) }

// SessionMaterial renders the subject, the stored memories and the messages of m, and nothing else. The
// messages come last, so that requests about one subject begin with the same bytes.
func SessionMaterial(m Material) (string, error) {
	return fenced(struct {
		Language string         `json:"language,omitempty"`
		Subject  string         `json:"subject,omitempty"`
		Stored   []StoredMemory `json:"stored,omitempty"`
		Messages []Message      `json:"messages,omitempty"`
	}{m.Language, m.Subject, m.Stored, m.Messages})
}

func fenced(m any) (string, error) {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data) // appends a newline
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil {
		return "", fault.Wrap(err, fault.Internal, "encode the material", "")
	}
	fence := strings.Repeat("`", max(3, longestRun(data.String(), '`')+1))
	return fence + "json\n" + data.String() + fence, nil
}

// Window renders messages as the first part of a user message. Equal messages give equal bytes.
func Window(messages []Message) (string, error) {
	text, err := User(Material{Messages: messages})
	return text + "\n\n", err
}

// Step renders the part of a user message after the window: the instructions and the schema of a stage, and
// its material. The schema leaves out that objects have all of their properties and no others, which the
// instructions say.
func Step(instructions string, schema json.RawMessage, m Material) (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, schema); err != nil {
		return "", fault.Wrap(err, fault.Internal, "encode the schema of a step", "")
	}
	text, err := User(m)
	return instructions + "\n\n```schema\n" + strict.ReplaceAllString(compact.String(), "") + "\n```\n\n" + text, err
}

// strict matches the words that make an object of a compact schema strict.
var strict = regexp.MustCompile(`"additionalProperties":false,"required":\[[^\]]*\],`)

var opening = regexp.MustCompile("(?m)^(`{3,})json[ \t]*$")

// ReadMaterial is the inverse of User, and of Window followed by Step: documents are joined, and messages
// outside Ranges are left out. It also accepts a message with text around the fences.
func ReadMaterial(user string) (Material, error) {
	var m Material
	rest, err := readFence(user, &m)
	if err != nil {
		return Material{}, err
	}
	for err == nil { // what is no document is other text
		rest, err = readFence(rest, &m)
	}
	m.Messages = m.InRanges()
	return m, nil
}

// readFence decodes the first document of a text into m and returns the text after it. If it fails, it returns
// the whole text.
func readFence(text string, m *Material) (rest string, err error) {
	at := opening.FindStringSubmatchIndex(text)
	if at == nil {
		return text, fault.New(fault.InvalidArgument, "the message holds no fenced material",
			"render it with prompt.User")
	}
	fence, after := text[at[2]:at[3]], text[at[1]:]
	end := strings.Index(after, "\n"+fence)
	if end < 0 {
		return text, fault.New(fault.InvalidArgument, "the material's fence is not closed",
			"render it with prompt.User")
	}
	if err := json.Unmarshal([]byte(after[:end]), m); err != nil {
		return text, fault.Wrap(err, fault.InvalidArgument, "decode the material", "render it with prompt.User")
	}
	return after[end+1+len(fence):], nil
}

// longestRun returns the length of the longest run of c in s.
func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
