"""Print what nginx needs to serve the lab: ``python deploy/proxy.py lab.example.org > /etc/nginx/conf.d/lab.conf``.

With ``--processes N`` there are N app servers on the ports from 8501 on (private-bandit-lab@1.service, ...). Streamlit
keeps what belongs to a visitor in the process that serves the tab, so a cookie says which one that is; it says nothing
else. A visitor whose process is gone is led to the next one. A class of page Learn lives in one process: the first
letter of its code says in which.
"""

from __future__ import annotations

import argparse

LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"  # as in ui/learn/classroom.py

HEAD = """# Made by deploy/proxy.py: a file for /etc/nginx/conf.d/.
# certbot --nginx adds the certificate and the redirection to https.
map $http_upgrade $lab_connection {
    default upgrade;
    ''      close;
}
"""

# A visitor without a cookie gets any process; where a browser keeps no cookies, its address decides.
CHOICE = """
split_clients $request_id $lab_any {{
{any_process}
}}
split_clients $remote_addr$http_user_agent $lab_by_address {{
{any_process}
}}
map $arg_class $lab_of_class {{
    default '';
{classes}
}}
map $cookie_lab $lab_of_cookie {{
    default $lab_by_address;
{cookies}
}}
map "$lab_of_class:$cookie_lab" $lab_page_cookie {{  # of a page: who comes to a class goes where it is
    ~^(\\d+): $1;
    ~^:.      '';
    default   $lab_any;
}}
map $upstream_addr $lab_served {{  # of a web socket: who was led to another process stays there
{served}
}}
map $lab_served:$cookie_lab $lab_socket_cookie {{
    ~^(\\d+):\\1$ '';
    ~^(\\d+):    $1;
}}
map $lab_page_cookie $lab_set_page {{
    ''      '';
    default "lab=$lab_page_cookie; Path=/; HttpOnly; SameSite=Lax";
}}
map $lab_socket_cookie $lab_set_socket {{
    ''      '';
    default "lab=$lab_socket_cookie; Path=/; HttpOnly; SameSite=Lax";
}}
"""

SERVER = """
server {{
    listen {listen};
    server_name {host};
    client_max_body_size 20m;  # the upload of one's own numbers
    proxy_http_version 1.1;
    proxy_set_header Upgrade $http_upgrade;  # pictures come over a web socket
    proxy_set_header Connection $lab_connection;
    proxy_set_header Host $http_host;  # else the app refuses the socket as one of another site
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_read_timeout 1d;  # a reader may look at one picture for long
    proxy_buffering off;
    proxy_connect_timeout 2s;

    location / {{
        proxy_pass http://{upstream};{page_cookie}
    }}

    location /_stcore/stream {{
        proxy_pass http://{upstream};{socket_cookie}
    }}

    location = /_stcore/metrics {{
        deny all;  # Streamlit's statistics are nobody's business
    }}
}}
"""


def configuration(host: str, ports: list[int], listen: str = "80") -> str:
    """The whole file for app servers on these ports."""
    if len(ports) == 1:
        server = SERVER.format(
            host=host, listen=listen, upstream=f"127.0.0.1:{ports[0]}", page_cookie="", socket_cookie=""
        )
        return HEAD + server
    numbers = range(1, len(ports) + 1)
    share = 100 / len(ports)
    rows = {
        "any_process": [f"    {f'{share:.2f}%' if n < len(ports) else '*'} {n};" for n in numbers],
        "classes": [f"    ~*^[{LETTERS[n - 1 :: len(ports)]}] {n};" for n in numbers],
        "cookies": [f"    {n} {n};" for n in numbers],
        "served": [f"    ~:{port}$ {n};" for n, port in zip(numbers, ports, strict=True)],
    }
    upstreams = "".join(_upstream(n, ports) for n in numbers)
    choice = CHOICE.format(**{name: "\n".join(lines) for name, lines in rows.items()})
    server = SERVER.format(
        host=host,
        listen=listen,
        upstream="lab_$lab_of_cookie",
        page_cookie="\n        add_header Set-Cookie $lab_set_page;",
        socket_cookie="\n        add_header Set-Cookie $lab_set_socket always;  # always: a socket's answer is no page",
    )
    return HEAD + upstreams + choice + server


def _upstream(number: int, ports: list[int]) -> str:
    """Process ``number``; the others where it is gone."""
    lines = [
        f"    server 127.0.0.1:{port} {'max_fails=1 fail_timeout=5s' if n == number else 'backup'};"
        for n, port in enumerate(ports, 1)
    ]
    return f"\nupstream lab_{number} {{\n" + "\n".join(lines) + "\n}\n"


def main() -> None:
    """Read the command line and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("host", help="the name under which visitors find the lab")
    parser.add_argument("--processes", type=int, default=1, choices=range(1, 17), metavar="N", help="app servers")
    parser.add_argument("--port", type=int, default=8501, help="of the first app server; the others follow")
    parser.add_argument("--listen", default="80", help="where nginx listens")
    asked = parser.parse_args()
    print(configuration(asked.host, [asked.port + n for n in range(asked.processes)], asked.listen), end="")


if __name__ == "__main__":
    main()
