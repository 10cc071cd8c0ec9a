// Package jsonread reads JSON inputs of any size without decoding what is not used. It knows the place of each value,
// for errors and citations.
//
//	s := jsonread.NewSource("session.jsonl", file, 64<<20, 256<<10, "see the manual")
//	err := s.Values(func(v jsonread.Value) error { fmt.Println(v.Get("type").Str(), v.Line()); return nil })
//
// Errors are *fault.Error and state the format, the file, the line and the column. jsontext finds values,
// offsets and pointers; this package adds lines, and reads values only when they are used.

package intake
