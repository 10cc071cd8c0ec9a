package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DecodeFiles decodes the files that a model wrote, for Attach. It accepts Cairn's schema,
// {"files": [{"file", "code"}]}, the array alone, or MemOS' {file: code}. Names are unchanged. The
// error is written for a repair round.
func DecodeFiles(raw json.RawMessage) (map[string]string, error) {
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("the reply is not valid JSON: %w", err)
	}
	if object, ok := root.(map[string]any); ok {
		if list, ok := object["files"].([]any); ok {
			root = list
		} else if inner, ok := object["files"].(map[string]any); ok {
			root = inner
		}
	}
	files := map[string]string{}
	var faults []string
	switch root := root.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(root)) {
			code, ok := root[name].(string)
			if !ok {
				faults = append(faults, fmt.Sprintf("%s: want the text of the file, got %s", printable(name),
					kindOf(root[name])))
				continue
			}
			files[name] = code
		}
	case []any:
		for i, item := range root {
			object, _ := item.(map[string]any)
			entry := newFields(object)
			name, _ := entry.take("file", "filename", "name", "path").(string)
			code, ok := entry.take("code", "content", "text").(string)
			if name == "" || !ok {
				faults = append(faults, fmt.Sprintf("files[%d]: want an object with file and code", i))
				continue
			}
			files[name] = code
		}
	default:
		return nil, fmt.Errorf("the reply must be an object from file names to their text; got %s", kindOf(root))
	}
	if len(files) == 0 && faults != nil {
		return nil, errors.New("no usable file: " + strings.Join(faults, "; "))
	}
	return files, nil
}
