package intake

import (
	"bytes"
	"iter"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// JSONValue is a JSON value of the input, decoded only as far as it is read. The raw text is known to be
// valid JSON.
type JSONValue struct {
	chunk *Chunk
	raw   jsontext.Value   // without surrounding blanks; empty if the value is absent
	at    int              // offset in the chunk
	ptr   jsontext.Pointer // in the chunk
}

// Chunk is a part of the input that was checked as a whole: a line, or a document.
type Chunk struct {
	data []byte
	line int // of the first byte, from 1
	// lines are counted forwards: lineAt is the line of the offset seen.
	seen, lineAt int
}

// LineOf returns the line of an offset. Offsets usually ascend, so counting is linear in total.
func (c *Chunk) LineOf(at int) int {
	if c.lineAt == 0 || at < c.seen {
		c.seen, c.lineAt = 0, c.line
	}
	c.lineAt += bytes.Count(c.data[c.seen:at], []byte("\n"))
	c.seen = at
	return c.lineAt
}

// Root returns the value of a chunk.
func (c *Chunk) Root(ptr string) JSONValue {
	raw := bytes.TrimLeft(c.data, blanks)
	return JSONValue{c, bytes.TrimRight(raw, blanks), len(c.data) - len(raw), jsontext.Pointer(ptr)}
}

// blanks are the characters that JSON permits around values.
const blanks = " \t\r\n"

// Kind returns the first byte of a value: { [ " t f n or 0 for a number, and a zero byte if it is absent.
func (n JSONValue) Kind() jsontext.Kind { return n.raw.Kind() }

// IsObject reports whether a value is an object.
func (n JSONValue) IsObject() bool { return n.Kind() == '{' }

// IsArray reports whether a value is an array.
func (n JSONValue) IsArray() bool { return n.Kind() == '[' }

// IsString reports whether a value is a string.
func (n JSONValue) IsString() bool { return n.Kind() == '"' }

// Absent reports whether a value is missing or null.
func (n JSONValue) Absent() bool { return n.Kind() == 0 || n.Kind() == 'n' }

// Fields returns the members of an object in order. Their pointers are those of the object.
func (n JSONValue) Fields() iter.Seq2[string, JSONValue] {
	return func(yield func(string, JSONValue) bool) {
		for d := n.open('{'); d.PeekKind() == '"'; {
			name, err := d.ReadToken()
			if err != nil {
				return
			}
			key := Storable(name.String())
			if value, ok := n.next(d, n.ptr); !ok || !yield(key, value) {
				return
			}
		}
	}
}

// open returns a decoder behind the first byte of an object or array, and one at its end for other values.
func (n JSONValue) open(kind jsontext.Kind) *jsontext.Decoder {
	if n.raw.Kind() != kind {
		return newDecoder(nil)
	}
	d := newDecoder(n.raw)
	_, _ = d.ReadToken() // an error is also one of the next read
	return d
}

// next reads the next value inside a value.
func (n JSONValue) next(d *jsontext.Decoder, ptr jsontext.Pointer) (JSONValue, bool) {
	raw, err := d.ReadValue()
	end := int(d.InputOffset())
	return JSONValue{n.chunk, n.raw[end-len(raw) : end], n.at + end - len(raw), ptr}, err == nil
}

// Get returns a member of an object, the last one if the name is repeated. It is absent in other
// values.
func (n JSONValue) Get(key string) (found JSONValue) {
	for name, value := range n.Fields() {
		if name == key {
			found = value
		}
	}
	if len(found.raw) > 0 {
		found.ptr = n.ptr.AppendToken(key)
	}
	return found
}

// Path returns a member of nested objects.
func (n JSONValue) Path(keys ...string) JSONValue {
	for _, key := range keys {
		n = n.Get(key)
	}
	return n
}

// Members returns all members of an object at once, for objects of which many are read.
func (n JSONValue) Members() JSONObject {
	o := JSONObject{}
	for name, value := range n.Fields() {
		value.ptr = n.ptr.AppendToken(name)
		o[name] = value
	}
	return o
}

// JSONObject has the members of an object by name.
type JSONObject map[string]JSONValue

// Str returns Str of a member.
func (o JSONObject) Str(key string) string { return o[key].Str() }

// Path returns a member of nested objects.
func (o JSONObject) Path(key string, keys ...string) JSONValue { return o[key].Path(keys...) }

// First returns the first of several members that is present and not null.
func (o JSONObject) First(keys ...string) JSONValue {
	for _, key := range keys {
		if v := o[key]; !v.Absent() {
			return v
		}
	}
	return JSONValue{}
}

// Items returns the items of an array, or nothing.
func (n JSONValue) Items() iter.Seq2[int, JSONValue] {
	return func(yield func(int, JSONValue) bool) {
		d := n.open('[')
		for i := 0; d.PeekKind() != ']'; i++ {
			item, ok := n.next(d, n.ptr.AppendToken(strconv.Itoa(i)))
			if !ok || !yield(i, item) {
				return
			}
		}
	}
}

// Count returns the number of items of an array.
func (n JSONValue) Count() (total int) {
	for range n.Items() {
		total++
	}
	return total
}

// Str returns the text of a string, number or boolean, and an empty text for other values.
func (n JSONValue) Str() string {
	switch n.Kind() {
	case 0, '{', '[', 'n':
		return ""
	case '"':
		return unquote(n.raw)
	default:
		return string(n.raw)
	}
}

// Text returns a string as it is, and any other value as compact JSON. Null is empty.
func (n JSONValue) Text() string {
	if n.IsString() {
		return unquote(n.raw)
	}
	return n.JSON()
}

// JSON returns the compact JSON text of a value. Null and absent values are empty.
func (n JSONValue) JSON() string {
	if n.Absent() {
		return ""
	}
	compact := n.raw.Clone()
	_ = compact.Compact() // a value that is not valid stays
	return Storable(string(compact))
}

// IsTrue reports whether a value is true.
func (n JSONValue) IsTrue() bool { return string(n.raw) == "true" }

// Number returns a JSON number.
func (n JSONValue) Number() (float64, bool) {
	f, err := strconv.ParseFloat(string(n.raw), 64)
	return f, err == nil
}

// Integer returns a JSON number without a fraction, as a pointer.
func (n JSONValue) Integer() *int {
	i, err := strconv.Atoi(string(n.raw))
	if err != nil {
		return nil
	}
	return &i
}

// Embedded parses JSON text in a string, such as an attribute of a trace. Its places are those of
// the string.
func (n JSONValue) Embedded() JSONValue {
	if !n.IsString() {
		return n
	}
	data := []byte(strings.TrimSpace(unquote(n.raw)))
	if len(data) == 0 || data[0] != '{' && data[0] != '[' || !valid(data) {
		return n
	}
	c := &Chunk{data: data, line: n.chunk.LineOf(n.at)}
	return c.Root(n.Pointer())
}

// unquote returns the text of a JSON string without NUL, which Postgres cannot store.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 { // most texts; they are copied once
		return string(raw[1 : len(raw)-1])
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // an error means that half of a surrogate pair was replaced
	return Storable(string(text))
}

// Storable replaces NUL, which JSON can contain and Postgres cannot store.
func Storable(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }

// NewChunk returns a part of an input that is valid JSON, or text. line is that of its first byte, from 1.
func NewChunk(data []byte, line int) *Chunk { return &Chunk{data: data, line: line} }

// Raw returns the JSON text of a value, empty if it is absent.
func (n JSONValue) Raw() []byte { return n.raw }

// Line returns the line of a value in the input, 0 if it is in none.
func (n JSONValue) Line() int {
	if n.chunk == nil {
		return 0
	}
	return n.chunk.LineOf(n.at)
}

// Pointer returns the JSON pointer of a value in its line or document.
func (n JSONValue) Pointer() string { return string(n.ptr) }

// With returns other JSON text at the place of a value.
func (n JSONValue) With(raw string) JSONValue {
	return JSONValue{n.chunk, jsontext.Value(raw), n.at, n.ptr}
}
