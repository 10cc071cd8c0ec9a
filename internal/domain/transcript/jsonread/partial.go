package jsonread

import "encoding/json"

// maxDepth is the depth of values that Partial decodes.
const maxDepth = 64

// Partial decodes a value as encoding/json does. If the input ends early, it returns what came before, and false.
func Partial(d *json.Decoder) (value any, whole bool) { return partial(d, 0) }

func partial(d *json.Decoder, depth int) (any, bool) {
	token, err := d.Token()
	if err != nil {
		return nil, false
	}
	delim, isDelim := token.(json.Delim)
	if !isDelim {
		return token, true
	}
	if depth > maxDepth {
		return nil, false
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			value, ok := partial(d, depth+1)
			if value != nil {
				list = append(list, value)
			}
			if !ok {
				return list, false
			}
		}
		_, err = d.Token()
		return list, err == nil
	}
	o := map[string]any{}
	for d.More() {
		key, err := d.Token()
		name, isString := key.(string)
		if err != nil || !isString {
			return o, false
		}
		value, ok := partial(d, depth+1)
		o[name] = value
		if !ok {
			return o, false
		}
	}
	_, err = d.Token()
	return o, err == nil
}
