"""Drives a memory library for `cairn-bench peers`: one command per line on standard input, one answer per line on
standard output, both JSON.

    peer.py mem0|langmem

MODEL_URL is an endpoint in the form of OpenAI, PEER_HOME a folder, DATABASE_URL a database for langmem. The libraries
are used as their documentation shows, with their defaults where the experiment does not need others.
"""

import json
import os
import sys
import time
import uuid
import warnings

warnings.simplefilter("ignore")
URL, HOME, DIMS = os.environ["MODEL_URL"], os.environ["PEER_HOME"], 256
os.environ["OPENAI_API_KEY"] = "sk-test"


class Mem0:
    def __init__(self):
        from mem0 import Memory
        openai = {"model": "stub", "openai_base_url": URL, "api_key": "sk-test"}
        self.memory = Memory.from_config({
            "llm": {"provider": "openai", "config": openai},
            "embedder": {"provider": "openai", "config": {**openai, "embedding_dims": DIMS}},
            "vector_store": {"provider": "qdrant", "config": {
                "path": os.path.join(HOME, "qdrant"), "on_disk": True, "collection_name": "memories",
                "embedding_model_dims": DIMS}},
            "history_db_path": os.path.join(HOME, "history.db"),
        })

    def add(self, user, text):
        return len(self.memory.add([{"role": "user", "content": text}], user_id=user)["results"])

    def load(self, user, texts):
        self.memory.add([{"role": "user", "content": text} for text in texts], user_id=user, infer=False)

    def search(self, user, query):
        return [one["memory"] for one in self.memory.search(query, filters={"user_id": user}, top_k=10)["results"]]

    def list(self, user):
        return [one["memory"] for one in self.memory.get_all(filters={"user_id": user}, top_k=100000)["results"]]


class LangMem:
    def __init__(self):
        from langchain_openai import ChatOpenAI, OpenAIEmbeddings
        from langgraph.store.postgres import PostgresStore
        from langmem import create_memory_store_manager
        embeddings = OpenAIEmbeddings(model="stub", base_url=URL, api_key="sk-test", dimensions=DIMS,
                                      check_embedding_ctx_length=False)
        self.open = PostgresStore.from_conn_string(os.environ["DATABASE_URL"],
                                                   index={"dims": DIMS, "embed": embeddings})
        self.store = self.open.__enter__()
        self.store.setup()
        self.manager = create_memory_store_manager(ChatOpenAI(model="stub", base_url=URL, api_key="sk-test"),
                                                   namespace=("memories", "{user}"), store=self.store)

    def add(self, user, text):
        return len(self.manager.invoke({"messages": [{"role": "user", "content": text}]},
                                       config={"configurable": {"user": user}}))

    def load(self, user, texts):
        from langgraph.store.base import PutOp
        self.store.batch([PutOp(("memories", user), str(uuid.uuid4()),
                                {"kind": "Memory", "content": {"content": text}}) for text in texts])

    def search(self, user, query):
        return [json.dumps(one.value) for one in self.store.search(("memories", user), query=query, limit=10)]

    def list(self, user):
        return [json.dumps(one.value) for one in self.store.search(("memories", user), limit=100000)]


peer = {"mem0": Mem0, "langmem": LangMem}[sys.argv[1]]()
print(json.dumps({"out": "ready", "ms": 0}), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    began, answer = time.monotonic(), {}
    try:
        answer["out"] = getattr(peer, command.pop("do"))(**command)
    except Exception as error:  # each failure is an answer
        answer["error"] = f"{type(error).__name__}: {error}"[:400]
    answer["ms"] = (time.monotonic() - began) * 1000
    print(json.dumps(answer), flush=True)
