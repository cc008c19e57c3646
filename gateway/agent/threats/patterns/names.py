"""Names that are the same in all languages, beside a word of one."""

_TOOL = "sliver|havoc|mythic|brainworm"
_PART = (
    "implant*|beacon*|c2|teamserver|payload*|listener*|stager*|имплант*|маяк*|бэкдор*|нагрузк*|baliza*|"
    "implante*|nutzlast"
    "|植入|木马|信标|后门|监听器|インプラント|ビーコン|ペイロード|バックドア|임플란트|비콘|페이로드|백도어"
)
_PLACE = (
    "server*|channel*|infrastruct*|beacon*|node*|callback*|endpoint*|framework*|domain*|сервер*|канал*|узел|"
    "узлы|инфраструктур*"
    "|servidor*|canal*|infraestructura|nodo*|dominio*|kanal*|infrastruktur|knoten|服务器|伺服器|信道|通道|"
    "节点|基础设施"
    "|サーバー|サーバ|チャネル|チャンネル|ノード|インフラ|서버|채널|노드|인프라"
)

PATTERNS = (
    ("known_c2_framework", f"{_TOOL} ~2 {_PART}"),
    ("known_c2_framework", f"{_PART} ~2 with|using|via|con|mit|на ~0 {_TOOL}"),
    ("known_c2_framework", f"cobalt strike ~4 {_PART}|{_PLACE}"),
    ("c2_explicit", f"c2 ~1 {_PLACE}"),
    ("c2_explicit", "servidor*|canal|infraestructura|nodo|dominio|сервер*|канал*|узел|инфраструктур* ~1 c2"),
)
