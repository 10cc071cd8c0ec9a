package intake

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/domain/transcript"
)

// spans calls fn with the spans of an export, and their attributes as plain JSON.
func spans(n node, fn func(span node, attributes object) error) error {
	o := n.members()
	for _, resource := range o.first("resourceSpans", "resource_spans").items() {
		ro := resource.members()
		for _, scope := range ro.first("scopeSpans", "scope_spans", "instrumentationLibrarySpans").items() {
			for _, span := range scope.get("spans").items() {
				if err := fn(span, attributesOf(span.get("attributes"))); err != nil {
					return err
				}
			}
		}
	}
	if attributes := o["attributes"]; !attributes.absent() {
		return fn(n, attributesOf(attributes))
	}
	return nil
}

// attributesOf reads a list of keys and values, or an object.
func attributesOf(n node) object {
	if n.isObject() {
		return n.members()
	}
	out := object{}
	for _, item := range n.items() {
		value := plainValue(item.get("value"))
		raw, err := json.Marshal(value)
		if err != nil {
			continue
		}
		c := &chunk{data: raw, line: n.chunk.lineOf(item.at)}
		out[item.get("key").str()] = c.root(0, len(raw), item.ptr)
	}
	return out
}

// plainValue returns the value of an AnyValue of OTLP.
func plainValue(n node) any {
	for kind, value := range n.fields() {
		switch kind {
		case "stringValue", "string_value", "bytesValue":
			return value.str()
		case "arrayValue", "array_value":
			list := []any{}
			for _, item := range value.get("values").items() {
				list = append(list, plainValue(item))
			}
			return list
		case "kvlistValue", "kvlist_value":
			pairs := map[string]any{}
			for _, item := range value.get("values").items() {
				pairs[item.get("key").str()] = plainValue(item.get("value"))
			}
			return pairs
		default:
			return json.RawMessage(cmp(strings.Trim(string(value.raw), `"`), "null"))
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

func readOTel(s *Source, k *Sink) error {
	r := &requests{sink: k}
	return s.values(func(n node) error {
		return spans(n, func(span node, attributes object) error {
			for _, event := range span.get("events").items() {
				for key, value := range attributesOf(event.get("attributes")) {
					if _, known := attributes[key]; !known {
						attributes[key] = value
					}
				}
			}
			input := attributes["gen_ai.input.messages"].embedded()
			output := attributes["gen_ai.output.messages"].embedded()
			if input.absent() && output.absent() {
				k.skip(cmp(attributes.str("gen_ai.operation.name"), "span"), 1)
				return nil
			}
			session := cmp(attributes.str("gen_ai.conversation.id"), span.get("traceId").str())
			t := r.draft(session)
			t.model = attributes.first("gen_ai.response.model", "gen_ai.request.model").str()
			if system := attributes["gen_ai.system_instructions"].embedded(); !system.absent() {
				otelMessage(t, system, system, transcript.System)
			}
			for _, list := range []node{input, output} {
				for _, m := range list.items() {
					role, known := transcript.ParseRole(m.get("role").str())
					if !known {
						return s.unknownRole(m, m.get("role").str())
					}
					otelMessage(t, m, m.get("parts"), role)
				}
			}
			r.put(session, t)
			return nil
		})
	})
}

// otelMessage reads the parts of a message. Each response of a tool becomes a message of its own.
func otelMessage(t *talk, m, parts node, role transcript.Role) {
	c := &content{sink: t.sink}
	flush := func() {
		if !c.empty() {
			t.add(c.message(role), m)
		}
		c = &content{sink: t.sink}
	}
	for _, part := range parts.items() {
		o := part.members()
		switch o.str("type") {
		case "text":
			c.texts = append(c.texts, o["content"].text())
		case "tool_call":
			c.calls = append(c.calls, transcript.ToolCall{ID: o.str("id"), Name: o.str("name"),
				Arguments: o["arguments"].text()})
		case "tool_call_response":
			flush()
			t.add(transcript.Message{Role: transcript.Tool, ToolCallID: o.str("id"),
				Content: o.first("response", "result").text()}, m)
		case "blob", "uri", "file":
			a := transcript.Media{Kind: cmp(o.str("modality"), "file"), MIME: o.str("mime_type"),
				URI: o.first("uri", "file_id").str()}
			if data := o["content"]; data.isString() {
				a.SHA256 = hash(data.str())
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

func readOpenInference(s *Source, k *Sink) error {
	r := &requests{sink: k}
	return s.values(func(n node) error {
		return spans(n, func(span node, attributes object) error {
			if kind := attributes.str("openinference.span.kind"); kind != "LLM" {
				k.skip(cmp(kind, "span"), 1)
				return nil
			}
			trace := cmp(span.get("traceId").str(), span.path("context", "trace_id").str())
			session := cmp(attributes.str("session.id"), trace)
			t := r.draft(session)
			t.model = attributes.str("llm.model_name")
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
func flatMessage(t *talk, span node, attributes object, prefix string) bool {
	role, known := transcript.ParseRole(attributes.str(prefix + "role"))
	if !known {
		return false
	}
	c := &content{sink: t.sink}
	if text := attributes[prefix+"content"]; !text.absent() {
		c.texts = append(c.texts, text.text())
	}
	for i := 0; ; i++ {
		part := prefix + "contents." + strconv.Itoa(i) + ".message_content."
		kind := attributes.str(part + "type")
		if kind == "" {
			break
		}
		if url := attributes.str(part + "image.image.url"); url != "" {
			a := transcript.Media{Kind: "image"}
			address(&a, url)
			c.add(a)
		} else {
			c.texts = append(c.texts, attributes.str(part+"text"))
		}
	}
	for i := 0; ; i++ {
		call := prefix + "tool_calls." + strconv.Itoa(i) + ".tool_call."
		name := attributes.str(call + "function.name")
		if name == "" {
			break
		}
		c.calls = append(c.calls, transcript.ToolCall{ID: attributes.str(call + "id"), Name: name,
			Arguments: attributes[call+"function.arguments"].text()})
	}
	m := c.message(role)
	m.ToolCallID, m.Name = attributes.str(prefix+"tool_call_id"), attributes.str(prefix+"name")
	t.add(m, span)
	return true
}
