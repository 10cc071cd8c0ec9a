package intake

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lenient accepts what other programs write and encoding/json reads: repeated names, and halves of surrogate pairs.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), lenient)
}

// valid reports whether data is one JSON value.
func valid(data jsontext.Value) bool { return data.IsValid(lenient) }

// Beginning decodes the values of an input that may be cut off. The last one has the members that come before the cut,
// or before what is not valid.
func Beginning(head []byte) iter.Seq[any] {
	return func(yield func(any) bool) {
		for d := newDecoder(head); ; {
			var value any
			if err := json.UnmarshalDecode(d, &value); !yield(value) || err != nil {
				return
			}
		}
	}
}
