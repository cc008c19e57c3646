"""Spanish. Accents are taken off before matching."""

_NOT = "!no|nunca|jamás"
_IGNORE = (
    "ignora|ignore|ignorad|ignoren|ignorar|olvida|olvide|olvídate|olviden|omite|omita|descarta|descarte|"
    "desatiende|desestima"
)
_PRIOR = "anterior|anteriores|previa|previas|previo|previos|precedentes|iniciales|originales|existentes|pasadas|arriba"
_ORDERS = (
    "instrucción|instrucciones|indicaciones|órdenes|directrices|directivas|reglas|prompt|prompts|mensajes|comandos"
)
_LIMITS = (
    "norma|regla|límite|restricción|restricciones|límites|limitaciones|reglas|filtro|filtros|censura|normas|"
    "directrices|políticas|salvaguardas"
)
_USER = "usuario|usuaria|usuarios|humano|operador"
_SHOW = (
    "muestra|muéstrame|muestre|revela|revélame|revele|imprime|dime|repite|escribe|enseña|enséñame|filtra|"
    "publica|comparte"
)
_TALK = "conversación|conversaciones|chat|contexto|historial|memoria|transcripción"
_SEND = "envía|envíe|enviar|manda|mande|sube|suba|reenvía|transmite|publica|exfiltra|postea"
_TAKE = f"lee|lea|abre|abra|copia|copie|roba|robe|muestra|imprime|descarga|{_SEND}"
_CHANGE = (
    "edita|edite|modifica|modifique|cambia|cambie|añade|añada|agrega|agregue|escribe|escriba|actualiza|"
    "actualice|sobrescribe|inserta|reescribe"
)
_SERVER = "servidor|c2|botnet|controlador|http://|https://"
_DO = "ejecuta|ejecútalo|ejecute|ejecútala|ejecutar|corre|córrelo"

PATTERNS = (
    ("prompt_injection", f"{_NOT} {_IGNORE} ~6 {_ORDERS} ~3 {_PRIOR}"),
    ("prompt_injection", f"{_NOT} {_IGNORE} ~6 {_PRIOR} ~1 {_ORDERS}"),
    (
        "prompt_injection",
        f"{_NOT} {_IGNORE} ~1 todas|todos|cualquier|tus|sus|esas|estas ~2 "
        "instrucción|instrucciones|órdenes|directrices|indicaciones",
    ),
    ("prompt_injection", f"{_NOT} {_IGNORE} ~1 todo ~4 dicho|dijeron|dije|enseñado|aprendido|enseñaron|indicado"),
    ("prompt_injection", f"no ~1 sigas|siga|obedezcas|obedezca|hagas ~3 {_ORDERS} ~2 {_PRIOR}|sistema"),
    ("prompt_injection", f"{_NOT} haz|haga|hagan caso omiso ~3 {_ORDERS} ~2 {_PRIOR}"),
    (
        "sys_prompt_override",
        "sobrescribe|reemplaza|sustituye|anula|reescribe|reemplace|anule ~3 prompt|instrucciones|mensaje ~1 "
        "del|de ~0 sistema",
    ),
    (
        "sys_prompt_override",
        "prompt|instrucciones ~1 sistema ~2 anulado|anuladas|reemplazado|reemplazadas|sustituido",
    ),
    ("disregard_rules", f"{_NOT} {_IGNORE}|incumple|viola ~1 todas|todos|tus|cualquier|sus ~2 {_LIMITS}"),
    ("disregard_rules", f"no ~1 respetes|respete|cumplas|cumpla|sigas ~1 ninguna|ninguno|tus|sus ~2 {_LIMITS}"),
    (
        "bypass_restrictions",
        f"{_NOT} elude|eluda|evade|sortea|burla|salta|sáltate|esquiva ~3 {_LIMITS} ~2 "
        "seguridad|contenido|éticas|éticos",
    ),
    ("bypass_restrictions", f"actúa|responde|compórtate|habla|actúe|responda ~1 como ~1 si ~4 no|sin ~4 {_LIMITS}"),
    ("translate_execute", f"traduce|traduzca|convierte|decodifica|descifra ~14 y|luego ~2 {_DO}"),
    ("deception_hide", f"no|nunca ~2 digas|diga|informes|informe|cuentes|cuente|menciones|reveles ~5 {_USER}"),
    ("deception_hide", f"{_NOT} oculta|oculte|ocúltale|ocúltalo|esconde|escóndelo ~5 al|a|del|de ~1 {_USER}"),
    ("deception_hide", f"sin ~1 decirle|informar|avisar|decírselo ~1 al|a ~0 {_USER}"),
    (
        "deception_hide",
        "usuario|usuaria ~0 no ~2 entere|sepa|sospeche|saber|enterarse",
    ),
    ("read_secrets", f"{_NOT} {_TAKE} ~6 .env|.netrc|.pgpass|credentials"),
    (
        "read_secrets",
        f"{_NOT} roba|robe|filtra|filtre|exfiltra|sustrae ~3 contraseñas|credenciales|tokens|claves|secretos",
    ),
    ("role_hijack", f"ahora|desde ~2 eres|serás ~6 sin ~2 {_LIMITS}"),
    ("role_hijack", "ahora|eres ~3 modo ~1 desarrollador|dan|depuración|administrador|dios|jailbreak"),
    (
        "role_hijack",
        "ahora ~1 eres ~3 ia|asistente|chatbot|bot ~2 "
        "libre|malvado|malvada|desbloqueada|desbloqueado|irrestricta|irrestricto",
    ),
    ("role_pretend", f"finge|finja|simula|imagina|pretende ~8 sin|ninguna|ningún|no ~3 {_LIMITS}"),
    (
        "leak_system_prompt",
        f"{_NOT} {_SHOW} ~4 prompt|instrucciones|mensaje ~1 sistema|ocultas|internas|secretas|iniciales|ocultos",
    ),
    (
        "remove_filters",
        f"{_NOT} desactiva|desactive|quita|quite|elimina|deshabilita|retira|apaga ~3 {_LIMITS}|controles ~2 "
        "seguridad|contenido|éticos|éticas|censura",
    ),
    (
        "fake_update",
        f"tus|sus ~1 {_ORDERS}|{_LIMITS} ~4 "
        "actualizadas|actualizado|cambiado|reemplazadas|sustituidas|revocadas|anuladas|modificadas",
    ),
    (
        "fake_update",
        f"actualización|aviso ~2 sistema|urgente|crítica|seguridad ~6 {_ORDERS}|{_LIMITS} ~4 "
        "anuladas|sustituidas|revocadas|reemplazadas|inválidas|obsoletas",
    ),
    ("identity_override", "ya ~0 no ~0 eres ~3 asistente|ia|bot|chatbot|hermes|modelo"),
    ("identity_override", "tu ~1 nueva|verdadera ~0 identidad|personalidad"),
    ("identity_override", "tu ~1 identidad|personalidad ~0 nueva|verdadera"),
    ("identity_override", f"{_NOT} olvida|olvide|olvídate ~2 quién ~0 eres|eras"),
    (
        "c2_node_registration",
        f"regístrate|registra|regístrese|inscríbete ~4 nodo|bot|zombi|implante|agente ~5 {_SERVER}|red",
    ),
    (
        "c2_heartbeat",
        "envía|envíe|manda|emite|transmite ~4 latido|latidos|heartbeat|baliza|beacon ~14 "
        "tareas|órdenes|comandos|instrucciones",
    ),
    (
        "c2_task_pull",
        "obtén|descarga|recibe|recoge|solicita|consulta ~3 tareas|órdenes|comandos|instrucciones ~3 "
        f"{_SERVER} ~8 {_DO}|ejecútalas|ejecútalos|cúmplelas",
    ),
    ("c2_network_connect", "conéctate|conecta|únete|conéctese|enlázate ~4 c2|botnet"),
    ("c2_network_connect", "conéctate|conecta|únete|conéctese ~5 mando|comando ~1 control"),
    (
        "forced_action",
        "debes|debe|tienes ~2 inmediatamente|ahora|secretamente|silenciosamente|discretamente|sigilosamente "
        "~2 ejecutar|descargar|subir|enviar|borrar|eliminar|reenviar|conectar|conectarte|instalar",
    ),
    (
        "forced_action",
        "debes|debe|tienes ~1 ejecutar|descargar|subir|enviar|borrar|eliminar|reenviar|conectarte|instalar "
        "~1 inmediatamente|secretamente|silenciosamente|discretamente|sigilosamente",
    ),
    ("anti_forensic_oneliner", "solo|únicamente|sólo ~4 una ~1 línea ~8 sin|no|nunca|rastro|historial|disco"),
    (
        "anti_forensic_disk",
        "no|nunca|sin ~1 dejes|dejar|escribas|escribir|guardes|guardar|crees|crear ~3 "
        "rastro|rastros|scripts|pruebas|evidencia|evidencias ~4 disco|sistema|servidor",
    ),
    ("anti_forensic_disk", f"{_NOT} borra|borre|elimina|destruye|limpia ~3 huellas|rastros|evidencias|rastro"),
    (
        "known_c2_framework",
        "usa|use|usando|instala|ejecuta|despliega|lanza|carga ~4 metasploit|meterpreter|brainworm|cobaltstrike",
    ),
    ("known_c2_framework", "usa|use|usando|instala|ejecuta|despliega|lanza ~4 cobalt strike"),
    ("c2_explicit_long", "servidor|servidores|canal|infraestructura|nodo ~1 mando|comando ~1 control"),
    (
        "send_to_url",
        f"{_NOT} {_SEND} ~4 {_TALK}|contraseñas|credenciales|tokens|claves|secretos|notas|mensajes|todo ~6 a "
        "~3 http://|https://",
    ),
    (
        "context_exfil",
        f"{_NOT} {_SEND} ~3 {_TALK} ~1 completo|completa|entero|entera|íntegro ~1 a|al ~3 {_SERVER}|dirección|correo",
    ),
    ("context_exfil", f"{_NOT} {_SEND} ~1 todo|toda ~2 {_TALK} ~1 a|al ~3 {_SERVER}|dirección|correo"),
    (
        "context_exfil",
        f"{_NOT} incluye|incluya|añade|adjunta|agrega ~3 {_TALK} ~1 completo|completa|entero|entera ~1 en ~1 "
        "cada|todas|todos",
    ),
    ("ssh_backdoor", f"{_NOT} {_CHANGE} ~12 authorized_keys"),
    ("ssh_access", f"{_NOT} {_TAKE} ~5 id_rsa|id_ed25519|id_ecdsa"),
    ("ssh_access", f"{_NOT} {_TAKE} ~2 clave|llave ~1 privada ~1 ssh"),
    ("hermes_env", f"{_NOT} {_TAKE}|{_CHANGE} ~6 .hermes|hermes .env"),
    ("agent_config_mod", f"{_NOT} {_CHANGE} ~6 agents|claude|gemini md"),
    ("hermes_config_mod", f"{_NOT} {_CHANGE} ~6 .hermes|hermes ~1 config yaml|yml|json"),
    ("hermes_config_mod", f"{_NOT} {_CHANGE} ~6 soul md"),
)
