package intake

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/domain/transcript"
)

// spans calls fn with the spans of an export, and their attributes as plain JSON.
func spans(n JSONValue, fn func(span JSONValue, attributes JSONObject) error) error {
	o := n.Members()
	for _, resource := range o.First("resourceSpans", "resource_spans").Items() {
		ro := resource.Members()
		for _, scope := range ro.First("scopeSpans", "scope_spans", "instrumentationLibrarySpans").Items() {
			for _, span := range scope.Get("spans").Items() {
				if err := fn(span, attributesOf(span.Get("attributes"))); err != nil {
					return err
				}
			}
		}
	}
	if attributes := o["attributes"]; !attributes.Absent() {
		return fn(n, attributesOf(attributes))
	}
	return nil
}

// attributesOf reads a list of keys and values, or an object.
func attributesOf(n JSONValue) JSONObject {
	if n.IsObject() {
		return n.Members()
	}
	out := JSONObject{}
	for _, item := range n.Items() {
		value := plainValue(item.Get("value"))
		raw, err := json.Marshal(value)
		if err != nil {
			continue
		}
		c := NewChunk(raw, item.Line())
		out[item.Get("key").Str()] = c.Root(item.Pointer())
	}
	return out
}

// plainValue returns the value of an AnyValue of OTLP.
func plainValue(n JSONValue) any {
	for kind, value := range n.Fields() {
		switch kind {
		case "stringValue", "string_value", "bytesValue":
			return value.Str()
		case "arrayValue", "array_value":
			list := []any{}
			for _, item := range value.Get("values").Items() {
				list = append(list, plainValue(item))
			}
			return list
		case "kvlistValue", "kvlist_value":
			pairs := map[string]any{}
			for _, item := range value.Get("values").Items() {
				pairs[item.Get("key").Str()] = plainValue(item.Get("value"))
			}
			return pairs
		default:
			return json.RawMessage(compare(strings.Trim(string(value.Raw()), `"`), "null"))
		}
	}
	return nil
}

// spanKeys lists the attributes of the spans in a sample.
func spanKeys(r record) (keys []string) {
	add := func(attributes any) {
		switch v := attributes.(type) {
		case record:
			for key := range v {
				keys = append(keys, key)
			}
		case []any:
			for _, item := range objects(v) {
				keys = append(keys, text(item, "key"))
			}
		}
	}
	for _, resource := range objects(list(r, "resourceSpans")) {
		for _, scope := range objects(list(resource, "scopeSpans")) {
			for _, span := range objects(list(scope, "spans")) {
				add(span["attributes"])
				for _, event := range objects(list(span, "events")) {
					add(event["attributes"])
				}
			}
		}
	}
	add(r["attributes"])
	return keys
}

func otelGenAI() Adapter {
	return Adapter{Name: "otel-genai", About: "OpenTelemetry traces with GenAI attributes (OTLP JSON)",
		Keys: []string{"resourceSpans", "scopeSpans", "spans", "attributes", "traceId", "spanId"},
		claim: func(r record) (level, string) {
			keys := spanKeys(r)
			if slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, "gen_ai.") }) &&
				!slices.Contains(keys, "openinference.span.kind") {
				return certain, "spans with gen_ai attributes"
			}
			return foreign, ""
		}, read: readOTel}
}

func readOTel(s *JSONSource, k *Sink) error {
	r := &requests{sink: k}
	return s.Values(func(n JSONValue) error {
		return spans(n, func(span JSONValue, attributes JSONObject) error {
			for _, event := range span.Get("events").Items() {
				for key, value := range attributesOf(event.Get("attributes")) {
					if _, known := attributes[key]; !known {
						attributes[key] = value
					}
				}
			}
			input := attributes["gen_ai.input.messages"].Embedded()
			output := attributes["gen_ai.output.messages"].Embedded()
			if input.Absent() && output.Absent() {
				k.skip(compare(attributes.Str("gen_ai.operation.name"), "span"), 1)
				return nil
			}
			session := compare(attributes.Str("gen_ai.conversation.id"), span.Get("traceId").Str())
			t := r.draft(session)
			t.model = attributes.First("gen_ai.response.model", "gen_ai.request.model").Str()
			if system := attributes["gen_ai.system_instructions"].Embedded(); !system.Absent() {
				otelMessage(t, system, system, transcript.System)
			}
			for _, list := range []JSONValue{input, output} {
				for _, m := range list.Items() {
					role, known := transcript.ParseRole(m.Get("role").Str())
					if !known {
						return unknownRole(s, m, m.Get("role").Str())
					}
					otelMessage(t, m, m.Get("parts"), role)
				}
			}
			r.put(session, t)
			return nil
		})
	})
}

// otelMessage reads the parts of a message. Each response of a tool becomes a message of its own.
func otelMessage(t *talk, m, parts JSONValue, role transcript.Role) {
	c := &content{sink: t.sink}
	flush := func() {
		if !c.empty() {
			t.add(c.message(role), m)
		}
		c = &content{sink: t.sink}
	}
	for _, part := range parts.Items() {
		o := part.Members()
		switch o.Str("type") {
		case "text":
			c.texts = append(c.texts, o["content"].Text())
		case "tool_call":
			c.calls = append(c.calls, transcript.ToolCall{ID: o.Str("id"), Name: o.Str("name"),
				Arguments: o["arguments"].Text()})
		case "tool_call_response":
			flush()
			t.add(transcript.Message{Role: transcript.Tool, ToolCallID: o.Str("id"),
				Content: o.First("response", "result").Text()}, m)
		case "blob", "uri", "file":
			a := transcript.Media{Kind: compare(o.Str("modality"), "file"), MIME: o.Str("mime_type"),
				URI: o.First("uri", "file_id").Str()}
			if data := o["content"]; data.IsString() {
				a.SHA256 = hash(data.Str())
			}
			c.add(a)
		default:
			c.part(part)
		}
	}
	flush()
}

func openInference() Adapter {
	return Adapter{Name: "openinference", About: "OpenInference spans, as Phoenix exports them (JSON)",
		Keys: []string{"attributes", "openinference.span.kind", "llm.model_name", "session.id", "context", "span_kind"},
		claim: func(r record) (level, string) {
			if slices.Contains(spanKeys(r), "openinference.span.kind") {
				return certain, "spans with openinference.span.kind"
			}
			return foreign, ""
		}, read: readOpenInference}
}

func readOpenInference(s *JSONSource, k *Sink) error {
	r := &requests{sink: k}
	return s.Values(func(n JSONValue) error {
		return spans(n, func(span JSONValue, attributes JSONObject) error {
			if kind := attributes.Str("openinference.span.kind"); kind != "LLM" {
				k.skip(compare(kind, "span"), 1)
				return nil
			}
			trace := compare(span.Get("traceId").Str(), span.Path("context", "trace_id").Str())
			session := compare(attributes.Str("session.id"), trace)
			t := r.draft(session)
			t.model = attributes.Str("llm.model_name")
			for _, list := range []string{"llm.input_messages.", "llm.output_messages."} {
				for i := 0; ; i++ {
					if !flatMessage(t, span, attributes, list+strconv.Itoa(i)+".message.") {
						break
					}
				}
			}
			r.put(session, t)
			return nil
		})
	})
}

// flatMessage reads a message whose members are attributes of their own. It returns false if there
// is none.
func flatMessage(t *talk, span JSONValue, attributes JSONObject, prefix string) bool {
	role, known := transcript.ParseRole(attributes.Str(prefix + "role"))
	if !known {
		return false
	}
	c := &content{sink: t.sink}
	if text := attributes[prefix+"content"]; !text.Absent() {
		c.texts = append(c.texts, text.Text())
	}
	for i := 0; ; i++ {
		part := prefix + "contents." + strconv.Itoa(i) + ".message_content."
		kind := attributes.Str(part + "type")
		if kind == "" {
			break
		}
		if url := attributes.Str(part + "image.image.url"); url != "" {
			a := transcript.Media{Kind: "image"}
			address(&a, url)
			c.add(a)
		} else {
			c.texts = append(c.texts, attributes.Str(part+"text"))
		}
	}
	for i := 0; ; i++ {
		call := prefix + "tool_calls." + strconv.Itoa(i) + ".tool_call."
		name := attributes.Str(call + "function.name")
		if name == "" {
			break
		}
		c.calls = append(c.calls, transcript.ToolCall{ID: attributes.Str(call + "id"), Name: name,
			Arguments: attributes[call+"function.arguments"].Text()})
	}
	m := c.message(role)
	m.ToolCallID, m.Name = attributes.Str(prefix+"tool_call_id"), attributes.Str(prefix+"name")
	t.add(m, span)
	return true
}
