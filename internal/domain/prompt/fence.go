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
func User(m Material) (string, error) {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data) // appends a newline
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil {
		return "", fault.Wrap(err, fault.Internal, "encode the material", "")
	}
	fence := strings.Repeat("`", max(3, longestRun(data.String(), '`')+1))
	return fence + "json\n" + data.String() + fence, nil
}

var opening = regexp.MustCompile("(?m)^(`{3,})json[ \t]*$")

// ReadMaterial is the inverse of User. It also accepts a message with text around the fence.
func ReadMaterial(user string) (Material, error) {
	at := opening.FindStringSubmatchIndex(user)
	if at == nil {
		return Material{}, fault.New(fault.InvalidArgument, "the message holds no fenced material",
			"render it with prompt.User")
	}
	fence, rest := user[at[2]:at[3]], user[at[1]:]
	end := strings.Index(rest, "\n"+fence)
	if end < 0 {
		return Material{}, fault.New(fault.InvalidArgument, "the material's fence is not closed",
			"render it with prompt.User")
	}
	var m Material
	if err := json.Unmarshal([]byte(rest[:end]), &m); err != nil {
		return Material{}, fault.Wrap(err, fault.InvalidArgument, "decode the material", "render it with prompt.User")
	}
	return m, nil
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
