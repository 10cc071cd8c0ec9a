package memory

import (
	"encoding/json"
	"time"
)

// Joint joins conditions.
type Joint string

// Joints. The empty joint is a comparison of one field.
const (
	All  Joint = "all"  // all parts hold; true without parts
	Any  Joint = "any"  // one part holds; false without parts
	None Joint = "none" // no part holds; true without parts
)

// Field is what a condition compares.
type Field string

// Fields of entries. The first four and the next three are the fields that mem0 clients see.
const (
	FieldUser       Field = "user"
	FieldAgent      Field = "agent"
	FieldApp        Field = "app"
	FieldRun        Field = "run"
	FieldExpiration Field = "expiration" // a date such as 2026-12-31
	FieldCategories Field = "categories"
	FieldTimestamp  Field = "timestamp" // time of the messages or of the event, else of the creation

	FieldCreated  Field = "created"
	FieldUpdated  Field = "updated"
	FieldContent  Field = "content"
	FieldID       Field = "id"       // ID of the entry
	FieldMetadata Field = "metadata" // Key names the member
)

// Comparison compares a field with values.
type Comparison string

// Comparisons.
const (
	Present      Comparison = "present"      // the field has a value
	Equal        Comparison = "equal"        // to one of Values
	Different    Comparison = "different"    // from all Values; also true without a value
	Less         Comparison = "less"         // than the first value
	AtMost       Comparison = "at_most"      // the first value
	Greater      Comparison = "greater"      // than the first value
	AtLeast      Comparison = "at_least"     // the first value
	Contains     Comparison = "contains"     // the first value, as a part of a text or a member of a list
	ContainsFold Comparison = "containsfold" // Contains without regard to case
)

// Condition selects entries: a comparison of one field, or a joint of other conditions.
type Condition struct {
	Joint Joint
	Parts []Condition

	Field  Field
	Key    string // name of a metadata member
	How    Comparison
	Values []Value
}

// Value is a value of a comparison: JSON of a metadata member, a time, or a text.
type Value struct {
	Text string
	Time time.Time
	JSON json.RawMessage
}

// AllOf returns the condition that all parts hold.
func AllOf(parts ...Condition) *Condition { return &Condition{Joint: All, Parts: parts} }
