package transcript

import (
	"bytes"
	"encoding/json"
)

// kind returns the first byte of a JSON value: { [ " or another.
func kind(raw json.RawMessage) byte {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// scalar returns the text of a JSON string, number or boolean, and an empty text for other values.
func scalar(raw json.RawMessage) string {
	var text string
	switch kind(raw) {
	case 0, '{', '[', 'n':
		return ""
	case '"':
		if json.Unmarshal(raw, &text) != nil {
			return ""
		}
		return text
	default:
		return string(bytes.TrimSpace(raw))
	}
}
