"""Korean. Words are found inside others, so that endings and particles need not be written."""

_PRIOR = "이전|위의|앞의|앞선|지금까지|기존|모든|원래|처음|당신의|너의|네|시스템|그동안|종전|상기"
_ORDERS = "지시|명령|지침|프롬프트|규칙|설정|가이드라인|규정"
_IGNORE = "무시하고|무시하세요|무시해|무시하라|무시하십시오|무시하시오|무시할것|잊어|잊으세요|잊고|따르지마|따르지말"
_LIMITS = "제한|제약|규칙|필터|검열|가이드라인|규제|안전장치|가드레일|지침"
_USER = "사용자|이용자|유저|관리자|인간"
_SHOW = "보여|출력|알려|공개해|말해|누설|표시해|반복해|인쇄해|적어|밝혀|써줘"
_TALK = "대화|채팅|컨텍스트|문맥|기록|메모리|기억|내역"
_SEND = "보내|전송해|전송하|업로드|전달해|게시해|올려"
_TAKE = f"읽어|읽고|열어|복사해|복사하|출력해|훔쳐|보여|{_SEND}"
_CHANGE = "수정해|수정하|편집해|편집하|변경해|변경하|추가해|추가하|덮어써|덮어쓰|갱신해|고쳐|써넣어|기록해"
_SERVER = "서버|컨트롤러|제어기|http://|https://"
_DO = "실행해|실행하세요|실행하십시오|실행하라|실행하고|실행시켜"

PATTERNS = (
    ("prompt_injection", f"{_PRIOR} ~10 {_ORDERS} ~8 {_IGNORE}"),
    ("prompt_injection", f"{_IGNORE} ~4 {_PRIOR} ~8 {_ORDERS}"),
    (
        "prompt_injection",
        "지금까지|이전에|앞에서|여태 ~8 말한|들은|배운|말했던|알려준 ~6 잊어|잊으세요|잊고|무시하고|무시하세요|무시해",
    ),
    ("sys_prompt_override", "시스템 ~1 프롬프트|지시|메시지 ~3 덮어쓰|덮어써|교체|대체|재정의|무효화"),
    ("disregard_rules", f"모든|어떤|당신의|너의|네 ~6 {_LIMITS} ~5 {_IGNORE}|지키지|따를필요"),
    (
        "bypass_restrictions",
        f"안전|콘텐츠|보안|윤리|당신의 ~4 {_LIMITS}|정책 ~4 우회해|우회하|회피해|회피하|뚫어|피해가",
    ),
    (
        "bypass_restrictions",
        f"{_LIMITS} ~3 없는것처럼|없는듯이|없는것같이 ~6 대답해|대답하|행동해|행동하|답변해|답해|응답해",
    ),
    ("translate_execute", f"번역|변환|디코딩|해독 ~10 {_DO}"),
    ("deception_hide", f"{_USER} ~8 말하지|알리지|알려주지|밝히지|전하지|보여주지|들키지|언급하지"),
    ("deception_hide", f"{_USER} ~8 숨겨|숨기고|숨기세요|비밀로|몰래|감춰"),
    ("read_secrets", f".env|.netrc|.pgpass|credentials ~8 {_TAKE}"),
    ("read_secrets", "비밀번호|인증정보|자격증명|토큰|비밀키 ~4 훔쳐|빼내|유출해|유출하|탈취"),
    (
        "role_hijack",
        f"당신은이제|너는이제|이제당신은|이제너는|이제부터 ~10 {_LIMITS}|탈옥 ~4 없는|없이|받지않|받지|벗어난|풀린",
    ),
    ("role_hijack", "이제|지금부터 ~8 개발자|탈옥|디버그|관리자|dan 모드"),
    ("role_pretend", f"{_LIMITS}|윤리|도덕 ~4 없는|없이 ~10 척해|척하|연기해|연기하|역할을|흉내"),
    ("leak_system_prompt", f"시스템|초기|숨겨진|내부|원래|개발자 ~1 프롬프트|지시|지침|명령 ~6 {_SHOW}"),
    (
        "remove_filters",
        f"안전|콘텐츠|윤리|검열 ~3 {_LIMITS}|기능|검사|필터 ~3 해제해|해제하|비활성화|꺼|제거해|제거하|끄세요|없애",
    ),
    ("fake_update", f"당신의|너의|네 ~4 {_ORDERS}|{_LIMITS} ~3 업데이트되|변경되|바뀌었|교체되|해제되|갱신되|무효가"),
    (
        "fake_update",
        f"시스템업데이트|긴급업데이트|보안업데이트|업데이트 ~8 {_ORDERS}|{_LIMITS} ~4 무효|해제되|폐지|대체되|취소되",
    ),
    ("identity_override", "당신은|너는|넌 ~2 더이상|더 ~12 아니다|아닙니다|아니야|아니에요"),
    ("identity_override", "당신의새로운정체|새로운정체성|새정체성|진짜정체|누구인지잊어|정체성 ~6 잊어|입니다|이다"),
    ("c2_node_registration", f"{_SERVER}|봇넷 ~6 노드|좀비|임플란트|봇 ~4 등록"),
    ("c2_heartbeat", "하트비트|비콘|심박 ~4 보내|전송 ~14 작업|명령|지시"),
    ("c2_task_pull", f"{_SERVER} ~6 작업|명령|지시 ~4 가져와|받아|내려받|다운로드 ~8 {_DO}"),
    ("c2_network_connect", "c2|봇넷|명령제어 ~8 연결해|연결하|접속해|접속하|참여해|가입해|합류"),
    (
        "forced_action",
        f"즉시|당장|몰래|은밀히|조용히|곧바로 ~14 {_DO}|{_SEND}|다운로드|삭제|설치 ~2 해야|하지않으면|야 ~1 "
        "합니다|한다|해",
    ),
    ("anti_forensic_oneliner", "원라이너|한줄 ~4 만 ~12 흔적|기록|디스크|로그"),
    ("anti_forensic_disk", "디스크|시스템|서버 ~3 흔적|증거|스크립트|파일 ~4 남기지|쓰지|저장하지|기록하지"),
    ("anti_forensic_disk", "흔적|증거|로그 ~3 지워|삭제해|없애|제거해"),
    (
        "known_c2_framework",
        "metasploit|meterpreter|brainworm|cobaltstrike ~4 사용해|사용하|실행해|설치해|배포해|이용해",
    ),
    ("known_c2_framework", "cobalt strike ~4 사용해|사용하|실행해|설치해|배포해|이용해"),
    ("c2_explicit_long", "명령 ~2 제어 ~2 서버|채널|노드|인프라"),
    ("send_to_url", f"{_TALK}|비밀번호|자격증명|토큰|비밀키|메모|내용 ~8 http://|https:// ~12 {_SEND}"),
    ("context_exfil", f"전체|모든|전부 ~4 {_TALK} ~10 {_SERVER}|주소|이메일 ~6 {_SEND}"),
    ("context_exfil", f"모든|매|각 ~2 답변|응답|요청|링크 ~4 전체|모든 ~2 {_TALK} ~4 포함해|포함하|첨부해|넣어|붙여"),
    ("ssh_backdoor", f"authorized_keys ~14 {_CHANGE}|넣어"),
    ("ssh_access", f"id_rsa|id_ed25519|id_ecdsa ~8 {_TAKE}"),
    ("ssh_access", f"ssh ~1 개인키|비밀키|키 ~5 {_TAKE}"),
    ("hermes_env", f".hermes|hermes .env ~8 {_TAKE}|{_CHANGE}"),
    ("agent_config_mod", f"agents|claude|gemini md ~20 {_CHANGE}"),
    ("hermes_config_mod", f".hermes|hermes ~1 config yaml|yml|json ~20 {_CHANGE}"),
    ("hermes_config_mod", f"soul md ~20 {_CHANGE}"),
)

DECOYS = (
    "무시무시하",
    "무시하지",
    "무시해서는",
    "무시해도",
    "잊어버렸",
    "잊어서는",
    "네요",
    "네트워크",
    "동네",
    "인터넷",
)
"""Where the words are not a command: negated, told of somebody, or part of another word."""
