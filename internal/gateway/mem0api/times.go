package mem0api

import (
	"encoding/json"
	"time"

	"cairn/internal/domain/memory"
)

// span is a time as precise as a caller wrote it: from start to before end.
type span struct{ start, end time.Time }

// forms are the accepted forms of times with their precision.
var forms = []struct {
	layout    string
	precision time.Duration
}{{time.DateOnly, 24 * time.Hour}, {time.RFC3339, time.Second}, {"2006-01-02T15:04:05", time.Second},
	{time.DateTime, time.Second}, {"2006-01-02T15:04", time.Minute}}

// maxSeconds is the least number of a time that means milliseconds.
const maxSeconds = 100_000_000_000

func spanOf(v any) (span, bool) {
	switch given := v.(type) {
	case string:
		for _, f := range forms {
			at, err := time.Parse(f.layout, given)
			if err != nil {
				continue
			}
			precision := f.precision
			if at.Nanosecond() != 0 {
				precision = time.Microsecond
			}
			return span{at.UTC(), at.UTC().Add(precision)}, true
		}
	case json.Number:
		n, err := given.Float64()
		if err != nil || n < 0 {
			return span{}, false
		}
		if n >= maxSeconds {
			n /= 1000
		}
		if n > latestSecond {
			return span{}, false
		}
		at := time.UnixMicro(int64(n * 1e6)).UTC()
		return span{at, at.Add(time.Second)}, true
	}
	return span{}, false
}

// timed converts values to times. A day or a second without fraction stands for all of it.
func timed(name string, c memory.Condition, values []any) (memory.Condition, error) {
	var any []memory.Condition
	for _, v := range values {
		s, ok := spanOf(v)
		if !ok {
			return c, badFilter("invalid time %v of %s: use a form such as 2026-12-31 or 2026-12-31T10:00:00Z", v, name)
		}
		if c.Field == memory.FieldExpiration { // a date without a time
			c.Values = append(c.Values, memory.Value{Text: s.start.Format(time.DateOnly)})
			continue
		}
		at := func(how memory.Comparison, t time.Time) memory.Condition {
			one := c
			one.How, one.Values = how, []memory.Value{{Time: t}}
			return one
		}
		switch c.How {
		case memory.Greater:
			return at(memory.AtLeast, s.end), nil
		case memory.AtLeast, memory.Less:
			return at(c.How, s.start), nil
		case memory.AtMost:
			return at(memory.Less, s.end), nil
		}
		any = append(any, *memory.AllOf(at(memory.AtLeast, s.start), at(memory.Less, s.end)))
	}
	switch {
	case c.Field == memory.FieldExpiration:
		return c, nil
	case c.How == memory.Different:
		return memory.Condition{Joint: memory.None, Parts: any}, nil
	}
	return memory.Condition{Joint: memory.Any, Parts: any}, nil
}
