"""An agent: a tool loop with OpenAI's client and plain HTTP calls. Needs `harness agents install tool-loop`.

harness run agent=tool-loop llm=openai llm.model=gpt-4o
"""

import json
import os
import sys
import urllib.request

from openai import OpenAI

task = json.load(sys.stdin)
model = OpenAI()  # OPENAI_BASE_URL and OPENAI_API_KEY lead to the gateway of the run
tools = [{"type": "function", "function": tool} for tool in task["tools"]]
messages = [
    {"role": "system", "content": "You operate a web browser by calling functions. Call stop with the answer."},
    {"role": "user", "content": task["text"]},
]


def act(name, arguments):
    url, token = f"{os.environ['CAIRN_URL']}/actions/{name}", os.environ["CAIRN_TOKEN"]
    request = urllib.request.Request(url, arguments.encode(), {"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


while True:
    reply = model.chat.completions.create(model=os.environ["CAIRN_MODEL"], messages=messages, tools=tools)
    said = reply.choices[0].message
    messages.append(said.model_dump(exclude_none=True))
    if not said.tool_calls:
        print(json.dumps({"answer": said.content or ""}))
        break
    for call in said.tool_calls:
        result = act(call.function.name, call.function.arguments)
        if result["over"]:
            sys.exit()
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result["text"]})
