package prompt

// AgentContext is what an agent of long-term memory is told of the moment; its prompt is
// rendered anew before each response.
type AgentContext struct {
	Now      string
	Identity string // who the assistant is; empty when nobody has said it
	Meta     string // one line for each target: - type(target): description
	Type     string // of a specialist's memories
	Target   string
	Guidance string // what whoever handed a session in asks for; usually nothing

	// Of a long session that is gone through part by part; after the last comes a
	// look back on all of them.
	Part, Parts int
}

// Over tells that all parts were shown.
func (k AgentContext) Over() bool { return k.Part > k.Parts }

// Agent is the system message of an agent of long-term memory: summarize,
// retrieve, or specialist_ with the type of its memories.
func Agent(lang, name string, known AgentContext) (string, error) {
	return render(lang, "agent_"+name, known)
}
