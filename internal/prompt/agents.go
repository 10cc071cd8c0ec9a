package prompt

// Known is what an agent of long-term memory is told of the moment; its prompt is
// rendered anew before each response.
type Known struct {
	Now      string
	Identity string // who the assistant is; empty when nobody has said it
	Meta     string // one line for each target: - type(target): description
	Type     string // of a specialist's memories
	Target   string
	Guidance string // what whoever handed a session in asks for; usually nothing
}

// Agent is the system message of an agent of long-term memory: summarize,
// retrieve, or specialist_ with the type of its memories.
func Agent(lang, name string, known Known) (string, error) {
	return render(lang, "agent_"+name, known)
}
